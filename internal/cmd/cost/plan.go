//go:build linux

package main

// item is one step of a plan as people write it.
type item struct{ text, active string }

// plan returns the first n steps of the plan with this number. Plans of up to 50 steps share no step with the next two.
func plan(number, n int) (items []item) {
	doing := [][2]string{
		{"Write", "Writing"}, {"Review", "Reviewing"}, {"Test", "Testing"}, {"Document", "Documenting"}, {"Measure", "Measuring"},
		{"Simplify", "Simplifying"}, {"Translate", "Translating"}, {"Replace", "Replacing"}, {"Check", "Checking"}, {"Publish", "Publishing"},
	}
	what := []string{
		"the migration of the orders table", "the retry of failed payments", "the search page's empty state", "the export to CSV files",
		"the settings for time zones", "the import of old invoices", "the login form's error messages", "the nightly backup script",
		"the cache of product pictures", "the webhook for refunds", "the admin page for coupons", "the rate limit of the public API",
		"the mail that confirms an order", "the audit log of price changes", "the chart of weekly sales",
	}
	for i := range n {
		i += 50 * (number % 3)
		verb, object := doing[i%len(doing)], what[(i/len(doing)+i)%len(what)]
		items = append(items, item{verb[0] + " " + object, verb[1] + " " + object})
	}
	return items
}
