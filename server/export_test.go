package server

// SeenBy returns what the client with a name shows its model, from its row in
// the table.
func SeenBy(name string) Sight { return knownClient(name).sees }

// Digest is the digest in the keys of conversations.
var Digest = digest

// ClientTable returns, in the order of the table, the prefix of each client's name,
// the tool that it is listed, and whether its results have structured content.
func ClientTable() (rows []struct {
	Prefix, Tool string
	Structured   bool
}) {
	for _, c := range clients() {
		rows = append(rows, struct {
			Prefix, Tool string
			Structured   bool
		}{c.prefix, c.tool, !c.sees.hasStructured()})
	}
	return rows
}

// BestTool returns the tool that is listed to the client with a name.
func BestTool(name string) string { return bestTool(name) }

// Conversation says of a known client by what its conversations are told apart.
type Conversation struct {
	Prefix, ChatID, Variable, Evidence string
	Shares, SessionPerCall             bool
}

// Conversations returns the rows of the table of clients.
func Conversations() (rows []Conversation) {
	for _, c := range clients() {
		rows = append(rows, Conversation{c.prefix, c.chatID, c.variable, string(c.evidence), c.sharesConnection, c.sessionPerCall})
	}
	return rows
}
