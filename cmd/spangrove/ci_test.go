package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciJob is a job of docs/examples as its build server runs it.
type ciJob struct {
	file string
	// lines returns the shell lines of each step, in order, and which of them run also after one that failed.
	lines func(t *testing.T, text []byte) []ciStep
	// standIns are the programs that would ask the network: what installs, and what gets the file of the main branch, which is $BASELINE.
	standIns    map[string]string
	environment []string
	summary     string // the file that the build server shows
}

type ciStep struct {
	lines  string
	always bool
}

var ciJobs = []ciJob{
	{
		file: "eval-github.yml",
		lines: func(t *testing.T, text []byte) (steps []ciStep) {
			var workflow struct {
				Jobs map[string]struct {
					Steps []struct{ Run, If string }
				}
			}
			if err := yaml.Unmarshal(text, &workflow); err != nil {
				t.Fatal(err)
			}
			for _, s := range workflow.Jobs["evaluation"].Steps {
				if s.Run != "" {
					steps = append(steps, ciStep{s.Run, s.If == "always()"})
				}
			}
			return steps
		},
		standIns: map[string]string{
			"pip": `test "$*" = "install spangrove"`,
			"gh": `case "$1 $2" in
"run list") case "$*" in *" --branch main --event push "*) ;; *) exit 1 ;; esac; if [ -n "$BASELINE" ]; then echo 7; fi ;;
"run download") test "$3 $4 $5 $6" = "7 --name evaluation --dir" && mkdir -p "$7" && cp "$BASELINE" "$7/eval.case" ;;
*) exit 1 ;;
esac`,
		},
		environment: []string{"GITHUB_WORKFLOW=evaluation", "GITHUB_REF_NAME=feature/x", "GITHUB_STEP_SUMMARY=summary.md"},
		summary:     "summary.md",
	},
	{
		file: "eval-gitlab.yml",
		lines: func(t *testing.T, text []byte) (steps []ciStep) {
			var jobs map[string]struct{ Script []string }
			if err := yaml.Unmarshal(text, &jobs); err != nil {
				t.Fatal(err)
			}
			for _, line := range jobs["evaluation"].Script {
				steps = append(steps, ciStep{lines: line})
			}
			return steps
		},
		standIns: map[string]string{
			"pip": `test "$*" = "install spangrove"`,
			"curl": `test "$*" = "--fail --silent --show-error --location --output main.case --header JOB-TOKEN: x \
http://127.0.0.1:1/projects/1/jobs/artifacts/main/raw/eval.case?job=evaluation" || exit 2
test -n "$BASELINE" || exit 22
cp "$BASELINE" main.case`,
		},
		environment: []string{"CI_COMMIT_REF_NAME=feature/x", "CI_API_V4_URL=http://127.0.0.1:1", "CI_PROJECT_ID=1", "CI_DEFAULT_BRANCH=main", "CI_JOB_TOKEN=x"},
		summary:     "eval.md",
	},
}

// TestCIExamples runs the shell lines of docs/examples/eval-*.yml as they stand: without an earlier evaluation, with one, and with a
// program that has become worse.
func TestCIExamples(t *testing.T) {
	for _, job := range ciJobs {
		t.Run(job.file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", job.file))
			if err != nil {
				t.Fatal(err)
			}
			steps := job.lines(t, text)
			if len(steps) < 3 {
				t.Fatalf("%d steps have shell lines", len(steps))
			}
			first := job.run(t, steps, `echo '"Paris"'`, "")
			if first.failed || strings.Contains(first.summary, "Against") || !strings.HasPrefix(first.summary, "## feature/x: passed\n") {
				t.Errorf("without an earlier evaluation: failed is %t, summary:\n%s", first.failed, first.summary)
			}
			same := job.run(t, steps, `echo '"Paris"'`, first.saved)
			if same.failed || !strings.Contains(same.summary, "\nAgainst feature/x (") {
				t.Errorf("with an earlier evaluation: failed is %t, summary:\n%s", same.failed, same.summary)
			}
			worse := job.run(t, steps, `echo '"Lyon"'`, first.saved)
			if !worse.failed || !strings.HasPrefix(worse.summary, "## feature/x: failed\n") || !strings.Contains(worse.junit, "<failure ") {
				t.Errorf("worse: failed is %t, summary:\n%s\nJUnit:\n%s", worse.failed, worse.summary, worse.junit)
			}
			if _, err := os.Stat(worse.saved); err != nil {
				t.Errorf("a job that failed keeps no file: %v", err)
			}
		})
	}
}

type ciOutcome struct {
	failed         bool
	summary, junit string
	saved          string // path of eval.case
}

// run runs the steps in a folder of their own, with a program that answers, and with the file of the main branch, if there is one.
func (j ciJob) run(t *testing.T, steps []ciStep, answer, baseline string) (o ciOutcome) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	files := map[string]string{
		filepath.Join(dir, "answer"):               "#!/bin/sh\n" + answer + "\n",
		filepath.Join(dir, "evals", "cases.jsonl"): `{"id": "france", "inputs": {"country": "France"}, "ground_truth": "Paris"}` + "\n",
	}
	for name, lines := range j.standIns {
		files[filepath.Join(bin, name)] = "#!/bin/sh\n" + lines + "\n"
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range steps {
		if strings.Contains(step.lines, "${{") {
			t.Errorf("what others have written must not become shell lines; pass it in the environment:\n%s", step.lines)
		}
		if o.failed && !step.always {
			continue
		}
		cmd := exec.Command("bash", "-e", "-c", step.lines)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "BASELINE="+baseline), j.environment...)
		if out, err := cmd.CombinedOutput(); err != nil {
			o.failed = true
			t.Logf("%v:\n%s", err, out)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	o.summary, o.junit, o.saved = read(j.summary), read("eval.xml"), filepath.Join(dir, "eval.case")
	return o
}
