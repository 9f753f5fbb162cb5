package server

// KnownClients returns the table of clients: what each shows its model of a
// result, by the prefix of its name; empty when it was not measured.
func KnownClients() map[string]string {
	table := make(map[string]string)
	for _, c := range clients() {
		table[c.prefix] = string(c.sees)
	}
	return table
}

// SeenBy returns what the client with a name shows its model, from its row in
// the table.
func SeenBy(name string) string { return string(knownClient(name).sees) }

// Digest is the digest in the keys of conversations.
var Digest = digest
