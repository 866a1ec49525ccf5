import type { Examples } from "./examples.ts";

/** Examples of `croft repo`. */
export const examples: Examples = {
  "repo list": [
    ["List your repositories", "croft repo list"],
    [
      "List the private ones of an organization",
      "croft repo list acme --all --jq '.[] | select(.private) | .full_name'",
    ],
  ],
  "repo search": [
    ["Search repositories by name", "croft repo search notes"],
    ["List those that changed last", "croft repo search --sort updated --order desc --limit 5"],
  ],
  "repo create": [
    ["Create a private repository", "croft repo create notes --private"],
    [
      "Create one in an organization, with README and license",
      "croft repo create notes --org acme --init --readme Default --license MIT",
    ],
    [
      "In a script that may run again",
      "croft repo create notes --private --if-absent --jq .clone_url",
    ],
  ],
  "repo view": [
    ["Show a repository", "croft repo view keeper/notes"],
    ["Print the address to clone from", "croft repo view keeper/notes --jq .clone_url"],
  ],
  "repo edit": [
    ["Change the description", 'croft repo edit keeper/notes --description "Notes of the meeting"'],
    ["Make a repository private", "croft repo edit keeper/notes --visibility private"],
  ],
  "repo rename": [
    ["Rename a repository", "croft repo rename keeper/notes minutes"],
    ["Show the request only", "croft repo rename keeper/notes minutes --dry-run"],
  ],
  "repo transfer": [
    ["Offer a repository to an organization", "croft repo transfer keeper/notes acme"],
    ["Accept a repository", "croft repo transfer keeper/notes --accept"],
  ],
  "repo delete": [
    ["Delete a repository", "croft repo delete keeper/notes --confirm keeper/notes"],
    ["Show the request only", "croft repo delete keeper/notes --dry-run"],
  ],
  "repo log": [
    ["List the latest commits", "croft repo log keeper/notes"],
    [
      "List the commits of a branch that change a folder",
      "croft repo log keeper/notes feature --path docs",
    ],
  ],
  "repo show": [
    ["Show the latest commit of a branch", "croft repo show keeper/notes main"],
    ["Print what a commit changes", "croft repo show keeper/notes main --diff"],
  ],
  "repo compare": [
    ["Compare two branches", "croft repo compare keeper/notes main...feature"],
    [
      "Write the commits to a file, as patches",
      "croft repo compare keeper/notes main...feature --patch > feature.patch",
    ],
  ],
  "repo browse": [
    ["List the files of the top folder", "croft repo browse keeper/notes"],
    ["List a folder of a branch", "croft repo browse keeper/notes docs --ref feature"],
  ],
  "repo cat": [
    ["Print a file", "croft repo cat keeper/notes README.md"],
    ["Save a file of a tag", "croft repo cat keeper/notes README.md --ref v1.0 > README.md"],
  ],
  "repo archive": [
    ["Archive a repository", "croft repo archive keeper/notes --yes"],
    ["Show the request only", "croft repo archive keeper/notes --dry-run"],
  ],
  "repo unarchive": [
    ["Make a repository writable again", "croft repo unarchive keeper/notes --yes"],
    ["Show the request only", "croft repo unarchive keeper/notes --dry-run"],
  ],
  "repo download": [
    ["Download the default branch", "croft repo download keeper/notes"],
    [
      "Download a tag as a zip file",
      "croft repo download keeper/notes v1.0 --zip --output notes.zip",
    ],
  ],
  "label list": [
    ["List the labels of a repository", "croft label list keeper/notes"],
    ["List those of an organization", "croft label list acme"],
  ],
  "label create": [
    ["Create a label", "croft label create keeper/notes bug --color d73a4a"],
    [
      "Create an exclusive label of an organization",
      "croft label create acme priority/high --color b60205 --exclusive",
    ],
    [
      "In a script that may run again",
      "croft label create keeper/notes bug --color d73a4a --if-absent",
    ],
  ],
  "label edit": [
    ["Rename a label", "croft label edit keeper/notes bug --name defect"],
    ["Offer a label no longer", "croft label edit keeper/notes bug --archived"],
  ],
  "label clone": [
    ["Copy the labels of another repository", "croft label clone keeper/notes keeper/journal"],
    ["Show which labels would be copied", "croft label clone keeper/notes acme --dry-run"],
  ],
  "label delete": [
    ["Delete a label", "croft label delete keeper/notes bug --yes"],
    ["Show the request only", "croft label delete keeper/notes bug --dry-run"],
  ],
  "repo branch list": [
    ["List the branches", "croft repo branch list keeper/notes"],
    [
      "Print the names of all branches",
      "croft repo branch list keeper/notes --all --jq '.[].name'",
    ],
  ],
  "repo branch view": [
    ["Show a branch", "croft repo branch view keeper/notes main"],
    ["Print its latest commit", "croft repo branch view keeper/notes main --jq .commit.id"],
  ],
  "repo branch create": [
    ["Create a branch from the default branch", "croft repo branch create keeper/notes feature"],
    ["Create a branch from a tag", "croft repo branch create keeper/notes hotfix --from v1.0"],
    ["In a script that may run again", "croft repo branch create keeper/notes feature --if-absent"],
  ],
  "repo branch rename": [
    ["Rename a branch", "croft repo branch rename keeper/notes feature topic"],
    ["Show the request only", "croft repo branch rename keeper/notes feature topic --dry-run"],
  ],
  "repo branch delete": [
    ["Delete a branch", "croft repo branch delete keeper/notes feature --yes"],
    ["Show the request only", "croft repo branch delete keeper/notes feature --dry-run"],
  ],
  "repo tag list": [
    ["List the tags", "croft repo tag list keeper/notes"],
    [
      "Print the name of the newest one",
      "croft repo tag list keeper/notes --limit 1 --jq '.[0].name'",
    ],
  ],
  "repo tag view": [
    ["Show a tag", "croft repo tag view keeper/notes v1.0"],
    ["Print its commit", "croft repo tag view keeper/notes v1.0 --jq .commit.sha"],
  ],
  "repo tag create": [
    ["Tag the default branch", "croft repo tag create keeper/notes v1.0"],
    [
      "Create an annotated tag of a branch",
      'croft repo tag create keeper/notes v1.1 --target release -m "Release 1.1"',
    ],
    [
      "In a script that may run again",
      "croft repo tag create keeper/notes v1.0 --target 0123456789abcdef0123456789abcdef01234567 --if-absent",
    ],
  ],
  "repo tag delete": [
    ["Delete a tag", "croft repo tag delete keeper/notes v1.0 --yes"],
    ["Show the request only", "croft repo tag delete keeper/notes v1.0 --dry-run"],
  ],
  "repo protection list": [
    ["List the rules of a repository", "croft repo protection list keeper/notes"],
    [
      "Print the names of the rules",
      "croft repo protection list keeper/notes --jq '.[].rule_name'",
    ],
  ],
  "repo protection view": [
    ["Show the rule of a branch", "croft repo protection view keeper/notes main"],
    [
      "Print who may push",
      "croft repo protection view keeper/notes main --jq '.push_whitelist_usernames | join(\",\")'",
    ],
  ],
  "repo protection create": [
    ["Forbid pushes to a branch", "croft repo protection create keeper/notes main"],
    [
      "Let two users push to release branches",
      "croft repo protection create keeper/notes 'release/*' --push true --push-user mira otto",
    ],
    [
      "In a script that may run again",
      "croft repo protection create keeper/notes main --if-absent",
    ],
  ],
  "repo protection edit": [
    [
      "Let a team push",
      "croft repo protection edit keeper/notes main --push true --push-team writers",
    ],
    ["Forbid forced pushes", "croft repo protection edit keeper/notes main --force-push false"],
  ],
  "repo protection delete": [
    ["Remove a rule", "croft repo protection delete keeper/notes main --yes"],
    ["Show the request only", "croft repo protection delete keeper/notes main --dry-run"],
  ],
  "repo collaborator list": [
    ["List the collaborators", "croft repo collaborator list keeper/notes"],
    ["Print their names", "croft repo collaborator list keeper/notes --jq '.[].login'"],
  ],
  "repo collaborator view": [
    ["Show what a user may do", "croft repo collaborator view keeper/notes mira"],
    ["Print the permission", "croft repo collaborator view keeper/notes mira --jq .permission"],
  ],
  "repo collaborator add": [
    ["Let a user push", "croft repo collaborator add keeper/notes mira --permission write"],
    ["Let a user read", "croft repo collaborator add keeper/notes otto --permission read"],
  ],
  "repo collaborator remove": [
    ["Remove a collaborator", "croft repo collaborator remove keeper/notes mira --yes"],
    ["Show the request only", "croft repo collaborator remove keeper/notes mira --dry-run"],
  ],
  "collaborator list": [
    ["List the collaborators", "croft collaborator list keeper/notes"],
    ["Print their names", "croft collaborator list keeper/notes --jq '.[].login'"],
  ],
  "collaborator view": [
    ["Show what a user may do", "croft collaborator view keeper/notes mira"],
    ["Print the permission", "croft collaborator view keeper/notes mira --jq .permission"],
  ],
  "collaborator add": [
    ["Let a user push", "croft collaborator add keeper/notes mira --permission write"],
    ["Let a user read", "croft collaborator add keeper/notes otto --permission read"],
  ],
  "collaborator remove": [
    ["Remove a collaborator", "croft collaborator remove keeper/notes mira --yes"],
    ["Show the request only", "croft collaborator remove keeper/notes mira --dry-run"],
  ],
  "repo hook list": [
    ["List the hooks of a repository", "croft repo hook list keeper/notes"],
    ["Print their addresses", "croft repo hook list keeper/notes --jq '.[].config.url'"],
  ],
  "repo hook view": [
    ["Show a hook", "croft repo hook view keeper/notes 3"],
    ["Print its events", "croft repo hook view keeper/notes 3 --jq '.events | join(\",\")'"],
  ],
  "repo hook create": [
    [
      "Deliver pushes",
      "croft repo hook create keeper/notes https://ci.example.org/hook --event push",
    ],
    [
      "Post to a Slack channel",
      "croft repo hook create keeper/notes https://hooks.example.org/T0 --type slack --channel '#builds'",
    ],
  ],
  "repo hook edit": [
    [
      "Deliver only pushes to release branches",
      "croft repo hook edit keeper/notes 3 --branch-filter 'release/*'",
    ],
    ["Stop deliveries", "croft repo hook edit keeper/notes 3 --active false"],
  ],
  "repo hook delete": [
    ["Delete a hook", "croft repo hook delete keeper/notes 3 --yes"],
    ["Show the request only", "croft repo hook delete keeper/notes 3 --dry-run"],
  ],
  "repo hook test": [
    ["Send a test delivery", "croft repo hook test keeper/notes 3"],
    [
      "Send one for the latest commit of a branch",
      "croft repo hook test keeper/notes 3 --ref feature",
    ],
  ],
  "repo hook delivery list": [
    ["List the deliveries of a hook", "croft repo hook delivery list keeper/notes 3"],
    ["List the failed ones", "croft repo hook delivery list keeper/notes 3 --state failed"],
  ],
  "repo hook delivery view": [
    ["Show a delivery", "croft repo hook delivery view keeper/notes 3 12"],
    ["Print it as JSON", "croft repo hook delivery view keeper/notes 3 12 --json"],
  ],
  "repo hook delivery redeliver": [
    ["Send a delivery again", "croft repo hook delivery redeliver keeper/notes 3 12"],
    ["Show the request only", "croft repo hook delivery redeliver keeper/notes 3 12 --dry-run"],
  ],
  "repo clone": [
    ["Clone a repository", "croft repo clone keeper/notes"],
    [
      "Clone the latest commit only, into another folder",
      "croft repo clone keeper/notes copy -- --depth 1",
    ],
  ],
  "repo star": [
    ["Star a repository", "croft repo star keeper/notes"],
    ["Show the request only", "croft repo star keeper/notes --dry-run"],
  ],
  "repo unstar": [
    ["Take your star back", "croft repo unstar keeper/notes"],
    ["Show the request only", "croft repo unstar keeper/notes --dry-run"],
  ],
  "repo starred": [
    ["List what you starred", "croft repo starred"],
    ["List what another user starred", "croft repo starred mira"],
  ],
  "repo stargazers": [
    ["List who starred a repository", "croft repo stargazers keeper/notes"],
    ["Print their names", "croft repo stargazers keeper/notes --all --jq '.[].login'"],
  ],
  "repo watch": [
    ["Watch a repository", "croft repo watch keeper/notes"],
    ["Show the request only", "croft repo watch keeper/notes --dry-run"],
  ],
  "repo unwatch": [
    ["Stop watching", "croft repo unwatch keeper/notes"],
    ["Show the request only", "croft repo unwatch keeper/notes --dry-run"],
  ],
  "repo watched": [
    ["List what you watch", "croft repo watched"],
    ["List what another user watches", "croft repo watched mira"],
  ],
  "repo watchers": [
    ["List who watches a repository", "croft repo watchers keeper/notes"],
    ["Print their names", "croft repo watchers keeper/notes --all --jq '.[].login'"],
  ],
  "repo deploy-key list": [
    ["List the deploy keys", "croft repo deploy-key list keeper/notes"],
    ["Print their fingerprints", "croft repo deploy-key list keeper/notes --jq '.[].fingerprint'"],
  ],
  "repo deploy-key add": [
    ["Add a key that reads", "croft repo deploy-key add keeper/notes laptop.pub"],
    [
      "Add a key that may push",
      "croft repo deploy-key add keeper/notes laptop.pub --allow-write --title Mirror",
    ],
    [
      "In a script that may run again",
      "croft repo deploy-key add keeper/notes laptop.pub --if-absent",
    ],
  ],
  "repo deploy-key delete": [
    ["Delete a key", "croft repo deploy-key delete keeper/notes 4 --yes"],
    ["Show the request only", "croft repo deploy-key delete keeper/notes 4 --dry-run"],
  ],
  "repo topic list": [
    ["List the topics of a repository", "croft repo topic list keeper/notes"],
    ["Print them as JSON", "croft repo topic list keeper/notes --json"],
  ],
  "repo topic search": [
    ["List all topics", "croft repo topic search"],
    ["Search topics by a part of the name", "croft repo topic search note"],
  ],
  "repo topic add": [
    ["Add a topic", "croft repo topic add keeper/notes meetings"],
    ["Add two topics", "croft repo topic add keeper/notes meetings minutes"],
  ],
  "repo topic remove": [
    ["Remove a topic", "croft repo topic remove keeper/notes meetings"],
    ["Show the request only", "croft repo topic remove keeper/notes meetings --dry-run"],
  ],
  "repo topic set": [
    [
      "Give a repository two topics and no others",
      "croft repo topic set keeper/notes meetings minutes",
    ],
    ["Remove all topics", "croft repo topic set keeper/notes"],
  ],
  "repo languages": [
    ["Show the languages of a repository", "croft repo languages keeper/notes"],
    ["Print them as JSON", "croft repo languages keeper/notes --json"],
  ],
};
