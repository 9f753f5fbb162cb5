package tools

import "todo-mcp/prompts"

// updatePlanInput is the arguments of update_plan, as Codex has it.
type updatePlanInput struct {
	Explanation string           `json:"explanation,omitempty" jsonschema:"description=Why the plan changes"`
	Plan        []updatePlanStep `json:"plan" jsonschema:"description=All steps\\, in working order"`
}

type updatePlanStep struct {
	Step   string `json:"step" jsonschema:"minLength=1,description=What to do: Run the tests"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed,description=How far it is"`
}

func updatePlan(policy Policy) variant {
	return dialect(shape{view: wholeListView(false, "completed"), field: "plan", text: "step", explains: true, policy: policy},
		updatePlanInput{}, func(w prompts.Words) string { return w.PlanUpdated })
}
