import type { Examples } from "./examples.ts";

/** Examples of workflows: runs, runners, secrets and variables. */
export const examples: Examples = {
  "run list": [
    ["List the latest runs", "croft run list keeper/notes"],
    [
      "List the failed runs of a branch",
      "croft run list keeper/notes --status failure --branch main",
    ],
  ],
  "run view": [
    ["Show a run", "croft run view keeper/notes/17"],
    ["Print how it ended", "croft run view keeper/notes/17 --jq .conclusion"],
  ],
  "run jobs": [
    ["List the jobs of a run", "croft run jobs keeper/notes/17"],
    ["List those of its first attempt", "croft run jobs keeper/notes/17 --attempt 1"],
  ],
  "run watch": [
    ["Watch a run in a full-screen view", "croft run watch keeper/notes/17"],
    ["Watch all runs of a repository", "croft run watch keeper/notes"],
  ],
  "run log": [
    ["Print the log of a job", "croft run log keeper/notes/42"],
    ["Save it to a file", "croft run log keeper/notes/42 > job.log"],
  ],
  "run cancel": [
    ["Cancel a run", "croft run cancel keeper/notes/17"],
    ["Show the request only", "croft run cancel keeper/notes/17 --dry-run"],
    ["Wait until its jobs have stopped", "croft run cancel keeper/notes/17 --wait --timeout 2m"],
  ],
  "run rerun": [
    ["Run all jobs again", "croft run rerun keeper/notes/17"],
    ["Run the failed jobs again", "croft run rerun keeper/notes/17 --failed"],
    ["Wait for the end of the new attempt", "croft run rerun keeper/notes/17 --failed --wait"],
  ],
  "run delete": [
    ["Delete a run", "croft run delete keeper/notes/17 --yes"],
    ["Show the request only", "croft run delete keeper/notes/17 --dry-run"],
  ],
  "workflow list": [
    ["List the workflows", "croft workflow list keeper/notes"],
    ["Print name and state", "croft workflow list keeper/notes --template '{{.name}} {{.state}}'"],
  ],
  "workflow run": [
    ["Start a workflow on the default branch", "croft workflow run keeper/notes ci.yml"],
    [
      "Start it with inputs",
      "croft workflow run keeper/notes deploy.yml --ref v1.0 --input stage=production",
    ],
    [
      "Wait for its end, and fail when it fails",
      "croft workflow run keeper/notes ci.yml --ref main --wait --timeout 30m",
    ],
  ],
  "workflow enable": [
    ["Enable a workflow", "croft workflow enable keeper/notes ci.yml"],
    ["Show the request only", "croft workflow enable keeper/notes ci.yml --dry-run"],
  ],
  "workflow disable": [
    ["Disable a workflow", "croft workflow disable keeper/notes ci.yml"],
    ["Show the request only", "croft workflow disable keeper/notes ci.yml --dry-run"],
  ],
  "runner register": [
    [
      "Register a runner for jobs in containers",
      "croft runner register --labels ubuntu-latest:docker://node:22",
    ],
    [
      "Register a runner for one repository",
      "croft runner register --allow keeper/notes --token-stdin < token.txt",
    ],
    ["In a script that may run again", "croft runner register --if-absent --jq .id"],
  ],
  "runner run": [
    ["Run jobs until Ctrl-C", "croft runner run"],
    ["Run two jobs at a time", "croft runner run --capacity 2"],
  ],
  "runner list": [
    ["List runners", "croft runner list"],
    [
      "Print those that are online",
      "croft runner list --jq '.[] | select(.status == \"online\") | .name'",
    ],
  ],
  "runner view": [
    ["Show a runner", "croft runner view 5"],
    ["Print its labels", "croft runner view 5 --jq '.labels[].name'"],
  ],
  "runner token": [
    ["Print the token of the instance", "croft runner token"],
    ["Make a new token for one repository", "croft runner token --repo keeper/notes --renew"],
  ],
  "runner enable": [
    ["Enable a runner", "croft runner enable 5"],
    ["Show the request only", "croft runner enable 5 --dry-run"],
  ],
  "runner disable": [
    ["Disable a runner; its current job continues", "croft runner disable 5"],
    ["Show the request only", "croft runner disable 5 --dry-run"],
  ],
  "runner delete": [
    ["Delete a runner", "croft runner delete 5 --yes"],
    ["Show the request only", "croft runner delete 5 --dry-run"],
  ],
  "secret list": [
    ["List the secrets of a repository", "croft secret list --repo keeper/notes"],
    ["List those of an organization", "croft secret list --org acme"],
  ],
  "secret set": [
    [
      "Set a secret from a file",
      "croft secret set DEPLOY_KEY --repo keeper/notes --value-stdin < secret.txt",
    ],
    [
      "Set a secret for all repositories of an organization",
      "croft secret set DEPLOY_KEY --org acme --value-stdin < secret.txt",
    ],
  ],
  "secret delete": [
    ["Delete a secret of a repository", "croft secret delete DEPLOY_KEY --repo keeper/notes --yes"],
    ["Show the request only", "croft secret delete DEPLOY_KEY --org acme --dry-run"],
  ],
  "variable list": [
    ["List the variables of a repository", "croft variable list --repo keeper/notes"],
    ["List those of all your repositories", "croft variable list --user"],
  ],
  "variable get": [
    ["Show a variable", "croft variable get REGION --repo keeper/notes"],
    ["Print its value", "croft variable get REGION --org acme --jq .data"],
  ],
  "variable set": [
    [
      "Set a variable of a repository",
      "croft variable set REGION --repo keeper/notes --value north",
    ],
    [
      "Set a variable of the server from a file",
      "croft variable set REGION --instance --value-stdin < value.txt",
    ],
  ],
  "variable delete": [
    ["Delete a variable", "croft variable delete REGION --repo keeper/notes --yes"],
    ["Show the request only", "croft variable delete REGION --org acme --dry-run"],
  ],
  "run download": [
    ["Show what would be downloaded", "croft run download keeper/notes/17 --dry-run"],
    [
      "Show it for one artifact and another folder",
      "croft run download keeper/notes/17 logs --dir out --dry-run",
    ],
  ],
  "run artifact list": [
    ["List the artifacts of a run", "croft run artifact list keeper/notes/17"],
    ["List those of all runs of a repository", "croft run artifact list keeper/notes"],
  ],
  "run artifact delete": [
    ["Delete an artifact", "croft run artifact delete keeper/notes/17 logs --yes"],
    ["Show the request only", "croft run artifact delete keeper/notes/17 logs --dry-run"],
  ],
};
