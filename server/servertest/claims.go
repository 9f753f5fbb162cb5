package servertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// claimSteps is how many steps the agents of [Claims] share. Every third step waits for
// the step before it.
const claimSteps = 9

// Claims makes agents take, do and give back steps of one shared list at the same time, with the
// given number of calls for each agent. It returns the number of all calls, and checks that the
// answers are linearizable: they could come from the same calls one after the other, each at a
// moment between its start and its return (D5).
//
// The model has only the list, from which every answer follows: the step that "next" means, the
// agent that has a step, the step that is ready once another step is done, and the answer of
// TaskList. No agent's chat ends, so a taken step becomes free only by a call.
func Claims(t *testing.T, agents []*Chat, each int) int {
	t.Helper()
	first := agents[0]
	for n := 1; n <= claimSteps; n++ {
		first.Does("TaskCreate", fmt.Sprintf(`{"subject":"Step %d"}`, n))
		if n%3 == 0 {
			first.Does("TaskUpdate", fmt.Sprintf(`{"taskId":"%d","addBlockedBy":["%d"]}`, n, n-1))
		}
	}
	// Agent 0 keeps one more step open: a list would end when all its steps are done.
	first.Does("TaskCreate", fmt.Sprintf(`{"subject":"Step %d"}`, claimSteps+1))
	first.Does(claimOp{0, takeStep, claimSteps + 1}.call())
	var mu sync.Mutex
	var calls []porcupine.Operation
	began := time.Now()
	var all sync.WaitGroup
	for k, chat := range agents {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(k)))
			for range each {
				op := claimOp{agent: k, kind: claimKind(random.IntN(5)), step: 1 + random.IntN(claimSteps)}
				called := time.Since(began)
				a, err := chat.Try(op.call())
				if err != nil || a.Error != nil {
					t.Error(op, a.Raw, err)
					return
				}
				answer, _, _ := strings.Cut(a.Text(), "\nAnother agent changed the list") // news, not checked
				answer, _, _ = strings.Cut(answer, "\nBegun before what it waits for")
				mu.Lock()
				calls = append(calls, porcupine.Operation{ClientId: k, Input: op, Call: int64(called), Output: answer, Return: int64(time.Since(began))})
				mu.Unlock()
			}
		})
	}
	all.Wait()
	got, info := porcupine.CheckOperationsVerbose(claimModel(), calls, time.Minute)
	if got != porcupine.Ok {
		page := filepath.Join(os.TempDir(), "claims-not-linearizable.html")
		t.Errorf("the calls are not linearizable: %s; see %s (%v)", got, page, porcupine.VisualizePath(claimModel(), info, page))
	}
	// The check must fail if a refused claim is recorded as successful, as if two agents had one step.
	n := slices.IndexFunc(calls, func(c porcupine.Operation) bool { return strings.Contains(c.Output.(string), " is taken by ") })
	if n < 0 {
		t.Fatal("no two agents asked for one step")
	}
	op := calls[n].Input.(claimOp)
	calls[n].Output = fmt.Sprintf("Updated task #%d owner, status", op.step)
	if got := porcupine.CheckOperationsTimeout(claimModel(), calls, time.Minute); got != porcupine.Illegal {
		t.Errorf("that two agents have one step was not found: %s", got)
	}
	return len(calls)
}

type claimKind int

// The kinds of calls: take the next step, take or do a given step, give it back, or list all steps.
const (
	takeNext claimKind = iota
	takeStep
	doStep
	giveBack
	listAll
)

type claimOp struct {
	agent int
	kind  claimKind
	step  int
}

func (o claimOp) owner() string { return fmt.Sprint("agent ", o.agent) }

func (o claimOp) call() (tool, args string) {
	switch o.kind {
	case takeNext:
		return "TaskUpdate", fmt.Sprintf(`{"taskId":"next","owner":%q}`, o.owner())
	case takeStep:
		return "TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":"in_progress","owner":%q}`, o.step, o.owner())
	case doStep:
		return "TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":"completed"}`, o.step)
	case giveBack:
		return "TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":"pending","owner":""}`, o.step)
	default:
		return "TaskList", `{}`
	}
}

// claimStep is a step in the model. begunBy is the agent that began it; -1 for none.
type claimStep struct {
	status, owner string
	begunBy       int
}

type claimState [claimSteps + 1]claimStep

func claimModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			var s claimState
			for n := range s {
				s[n] = claimStep{"pending", "", -1}
			}
			s[claimSteps] = claimStep{"in_progress", "agent 0", 0}
			return s
		},
		Step: func(state, input, output any) (bool, any) {
			next, answer := state.(claimState).after(input.(claimOp))
			return answer == output.(string), next
		},
	}
}

// waits reports whether step n, counted from 1, waits for the step before it.
func (s claimState) waits(n int) bool {
	return n%3 == 0 && s[n-2].status != "completed"
}

// isAnothers reports whether step n, counted from 1, is taken by an agent other than k.
func (s claimState) isAnothers(n, k int, owner string) bool {
	step := s[n-1]
	return step.status == "in_progress" && step.begunBy != k || step.owner != "" && step.owner != owner
}

func (s claimState) taken(n int) string {
	return fmt.Sprintf(`Error: task #%d is taken by %q, who is at work. Nothing was changed; take another, or "next".`, n, s[n-1].owner)
}

// after returns the list after a call, and the call's answer.
func (s claimState) after(o claimOp) (claimState, string) {
	switch o.kind {
	case takeNext:
		for n := 1; n <= claimSteps; n++ {
			if s[n-1].status == "pending" && !s.waits(n) && !s.isAnothers(n, o.agent, o.owner()) {
				s[n-1] = claimStep{"in_progress", o.owner(), o.agent}
				return s, fmt.Sprintf(`Task #%d is yours: "Step %d"`, n, n)
			}
		}
		return s, "Error: no task is ready: each is done, taken or waits for others."
	case takeStep:
		if s.isAnothers(o.step, o.agent, o.owner()) {
			return s, s.taken(o.step)
		}
		return s.set(o.step, claimStep{"in_progress", o.owner(), o.agent}, "status, owner")
	case giveBack:
		return s.set(o.step, claimStep{"pending", "", -1}, "status, owner")
	case doStep:
		done := s[o.step-1]
		if done.status == "in_progress" && done.begunBy != o.agent {
			return s, s.taken(o.step)
		}
		done.status = "completed"
		said := "status"
		if n := o.step + 1; n%3 == 0 && s[n-1].status == "pending" {
			said += fmt.Sprintf("; now ready: #%d", n)
		}
		return s.set(o.step, done, said)
	}
	var lines []string
	for i, step := range s {
		n := i + 1
		line := fmt.Sprintf("#%d [%s] Step %d", n, step.status, n)
		if step.owner != "" {
			line += " (" + step.owner + ")"
		}
		if s.waits(n) {
			line += fmt.Sprintf(" [blocked by #%d]", n-1)
		}
		lines = append(lines, line)
	}
	return s, strings.Join(lines, "\n")
}

// set changes step n, and returns the list and the call's answer.
func (s claimState) set(n int, to claimStep, said string) (claimState, string) {
	answer := fmt.Sprintf("Updated task #%d %s", n, said)
	if s[n-1] == to {
		return s, answer + " (no change)"
	}
	s[n-1] = to
	return s, answer
}
