import type { Examples } from "./examples.ts";

/** Examples of issues, organizations, notifications and rendering. */
export const examples: Examples = {
  "issue status": [
    ["List your issues of a repository", "croft issue status keeper/notes"],
    [
      "Print the numbers of those assigned to you",
      "croft issue status keeper/notes --jq '.[] | select(.relation == \"assigned\") | .number'",
    ],
  ],
  "issue list": [
    ["List open issues", "croft issue list keeper/notes"],
    ["List the issues assigned to you", "croft issue list keeper/notes -a @me"],
    [
      "List closed bugs of a user",
      "croft issue list keeper/notes --state closed --label bug --assignee mira",
    ],
  ],
  "issue search": [
    ["List the issues assigned to you", "croft issue search --assigned"],
    ["Search the issues of an organization", "croft issue search crash --owner acme --state all"],
  ],
  "issue view": [
    ["Show an issue", "croft issue view keeper/notes#7"],
    ["Show it with its comments", "croft issue view keeper/notes#7 --comments"],
  ],
  "issue timeline": [
    ["List comments and events", "croft issue timeline keeper/notes#7"],
    ["Print them as JSON, one a line", "croft issue timeline keeper/notes#7 --all --ndjson"],
  ],
  "issue create": [
    ["Create an issue", 'croft issue create keeper/notes --title "The build fails"'],
    [
      "Create a labelled bug with its text from a file",
      'croft issue create keeper/notes --title "Crash" --label bug --body - < notes.md',
    ],
    [
      "Fill a template in",
      'croft issue create keeper/notes --from-template Bug --title "Crash on start"',
    ],
  ],
  "issue edit": [
    [
      "Assign an issue and put it into a milestone",
      'croft issue edit keeper/notes#7 --assign mira --milestone "Version 1"',
    ],
    ["Add a label", "croft issue edit keeper/notes#7 --add-label bug"],
  ],
  "issue close": [
    ["Close an issue", "croft issue close keeper/notes#7"],
    ["Close it with a comment", 'croft issue close keeper/notes#7 --comment "Fixed in v1.1"'],
  ],
  "issue reopen": [
    ["Reopen an issue", "croft issue reopen keeper/notes#7"],
    ["Reopen it with a comment", 'croft issue reopen keeper/notes#7 --comment "It is back"'],
  ],
  "issue comment": [
    ["Comment on an issue", 'croft issue comment keeper/notes#7 --body "Seen here as well"'],
    ["Comment with a text from a file", "croft issue comment keeper/notes#7 --body - < notes.md"],
  ],
  "issue react": [
    ["React to an issue", "croft issue react keeper/notes#7 rocket"],
    [
      "Take a reaction to a comment back",
      "croft issue react keeper/notes#7 +1 --comment 31 --remove",
    ],
  ],
  "issue lock": [
    ["Lock an issue", "croft issue lock keeper/notes#7"],
    ["Lock it and say why", "croft issue lock keeper/notes#7 --reason resolved"],
  ],
  "issue unlock": [
    ["Unlock an issue", "croft issue unlock keeper/notes#7"],
    ["Show the request only", "croft issue unlock keeper/notes#7 --dry-run"],
  ],
  "issue pin": [
    ["Pin an issue", "croft issue pin keeper/notes#7"],
    ["Show the request only", "croft issue pin keeper/notes#7 --dry-run"],
  ],
  "issue unpin": [
    ["Unpin an issue", "croft issue unpin keeper/notes#7"],
    ["Show the request only", "croft issue unpin keeper/notes#7 --dry-run"],
  ],
  "issue templates": [
    ["List the templates of a repository", "croft issue templates keeper/notes"],
    ["Print their names", "croft issue templates keeper/notes --jq '.[].name'"],
  ],
  "issue dependency list": [
    ["List what an issue waits for", "croft issue dependency list keeper/notes#7"],
    ["List the issues that wait for it", "croft issue dependency list keeper/notes#7 --blocked"],
  ],
  "issue dependency add": [
    ["Make an issue depend on another one", "croft issue dependency add keeper/notes#7 8"],
    [
      "Let it wait for an issue of another repository",
      "croft issue dependency add keeper/notes#7 acme/tools#3",
    ],
  ],
  "issue dependency remove": [
    ["Remove a dependency", "croft issue dependency remove keeper/notes#7 8"],
    [
      "Show the request only",
      "croft issue dependency remove keeper/notes#7 acme/tools#3 --dry-run",
    ],
  ],
  "issue time list": [
    ["List the time on an issue", "croft issue time list keeper/notes#7"],
    ["List your own time in all repositories", "croft issue time list --since 2026-11-01"],
  ],
  "issue time add": [
    ["Add an hour and a half", "croft issue time add keeper/notes#7 1h30m"],
    ["Add the time of an earlier day", "croft issue time add keeper/notes#7 45m --on 2026-11-20"],
  ],
  "issue time delete": [
    ["Delete one entry", "croft issue time delete keeper/notes#7 12 --yes"],
    ["Delete all of your time on an issue", "croft issue time delete keeper/notes#7 --all --yes"],
  ],
  "issue time start": [
    ["Start the stopwatch", "croft issue time start keeper/notes#7"],
    ["Show the request only", "croft issue time start keeper/notes#7 --dry-run"],
  ],
  "issue time stop": [
    ["Stop the stopwatch and keep the time", "croft issue time stop keeper/notes#7"],
    ["Stop it and drop the time", "croft issue time stop keeper/notes#7 --discard"],
  ],
  "issue time status": [
    ["Show the running stopwatch", "croft issue time status"],
    ["Print its seconds", "croft issue time status --jq '.[].seconds'"],
  ],
  "issue delete": [
    ["Delete an issue", "croft issue delete keeper/notes#7 --yes"],
    ["Show the request only", "croft issue delete keeper/notes#7 --dry-run"],
  ],
  "milestone list": [
    ["List open milestones", "croft milestone list keeper/notes"],
    [
      "List all of them with their due dates",
      "croft milestone list keeper/notes --state all --template '{{.title}} {{.due_on}}'",
    ],
  ],
  "milestone view": [
    ["Show a milestone", 'croft milestone view keeper/notes "Version 1"'],
    [
      "Print how many issues are open",
      'croft milestone view keeper/notes "Version 1" --jq .open_issues',
    ],
  ],
  "milestone create": [
    ["Create a milestone", 'croft milestone create keeper/notes "Version 1"'],
    [
      "Create one with a last day",
      'croft milestone create keeper/notes "Version 1" --due 2026-12-31',
    ],
    [
      "In a script that may run again",
      'croft milestone create keeper/notes "Version 1" --if-absent --jq .id',
    ],
  ],
  "milestone edit": [
    ["Close a milestone", 'croft milestone edit keeper/notes "Version 1" --close'],
    ["Move the last day", 'croft milestone edit keeper/notes "Version 1" --due 2027-01-31'],
  ],
  "milestone delete": [
    ["Delete a milestone", 'croft milestone delete keeper/notes "Version 1" --yes'],
    ["Show the request only", 'croft milestone delete keeper/notes "Version 1" --dry-run'],
  ],
  "activity list": [
    ["List your feed", "croft activity list"],
    [
      "List what a user did on one day",
      "croft activity list --user mira --performed --date 2026-11-23",
    ],
    [
      "List what happened in a repository, as JSON",
      "croft activity list --repo keeper/notes --json",
    ],
  ],
  "notification list": [
    ["List unread and pinned threads", "croft notification list"],
    [
      "List unread threads of a repository",
      "croft notification list --status unread --repo keeper/notes",
    ],
  ],
  "notification inbox": [
    ["Open your inbox", "croft notification inbox"],
    ["Open the threads of one repository", "croft notification inbox --repo keeper/notes"],
  ],
  "notification count": [
    ["Count your unread threads", "croft notification count"],
    ["Print the number", "croft notification count --jq .new"],
  ],
  "notification view": [
    ["Show a thread", "croft notification view 9"],
    ["Print what it is about", "croft notification view 9 --jq .subject.title"],
  ],
  "notification mark": [
    ["Mark threads as read", "croft notification mark 9 10 --as read"],
    [
      "Mark all threads of a repository as read",
      "croft notification mark --all --as read --repo keeper/notes",
    ],
  ],
  "notification watch": [
    ["Watch a repository", "croft notification watch keeper/notes"],
    ["Stop watching an issue", "croft notification watch keeper/notes#7 --off"],
  ],
  "org list": [
    ["List your organizations", "croft org list"],
    ["List every organization that you may see", "croft org list --all-visible --all"],
  ],
  "org view": [
    ["Show an organization", "croft org view acme"],
    ["Print its description", "croft org view acme --jq .description"],
  ],
  "org create": [
    ["Create an organization", "croft org create acme"],
    ["Create a private one", 'croft org create acme --visibility private --full-name "Acme Works"'],
    ["In a script that may run again", "croft org create acme --if-absent"],
  ],
  "org edit": [
    ["Change the description", 'croft org edit acme --description "Tools for everyone"'],
    ["Show it to its members only", "croft org edit acme --visibility private"],
  ],
  "org rename": [
    ["Rename an organization", "croft org rename acme acme-works"],
    ["Show the request only", "croft org rename acme acme-works --dry-run"],
  ],
  "org delete": [
    ["Delete an organization", "croft org delete acme --yes"],
    ["Show the request only", "croft org delete acme --dry-run"],
  ],
  "org permission": [
    ["Show what a user may do", "croft org permission acme mira"],
    ["Print whether the user is an owner", "croft org permission acme mira --jq .is_owner"],
  ],
  "org member list": [
    ["List the members", "croft org member list acme"],
    ["List those who show their membership", "croft org member list acme --public"],
  ],
  "org member remove": [
    ["Remove a member", "croft org member remove acme mira --yes"],
    ["Show the request only", "croft org member remove acme mira --dry-run"],
  ],
  "org member publicize": [
    ["Show your membership to everyone", "croft org member publicize acme mira"],
    ["Show the request only", "croft org member publicize acme mira --dry-run"],
  ],
  "org member conceal": [
    ["Hide your membership", "croft org member conceal acme mira --yes"],
    ["Show the request only", "croft org member conceal acme mira --dry-run"],
  ],
  "team list": [
    ["List your teams", "croft team list"],
    ["List the teams of an organization", "croft team list acme"],
  ],
  "team view": [
    ["Show a team", "croft team view acme/writers"],
    ["Print its permission", "croft team view acme/writers --jq .permission"],
  ],
  "team create": [
    ["Create a team that writes", "croft team create acme writers --permission write"],
    [
      "Create a team that may only write issues",
      "croft team create acme helpers --unit issues=write",
    ],
    [
      "In a script that may run again",
      "croft team create acme writers --permission write --if-absent --jq .id",
    ],
  ],
  "team edit": [
    ["Rename a team", "croft team edit acme/writers --name authors"],
    ["Give it all repositories", "croft team edit acme/writers --all-repositories true"],
  ],
  "team delete": [
    ["Delete a team", "croft team delete acme/writers --yes"],
    ["Show the request only", "croft team delete acme/writers --dry-run"],
  ],
  "team member list": [
    ["List the members", "croft team member list acme/writers"],
    ["Print their names", "croft team member list acme/writers --jq '.[].login'"],
  ],
  "team member add": [
    ["Add a user", "croft team member add acme/writers mira"],
    ["Show the request only", "croft team member add acme/writers mira --dry-run"],
  ],
  "team member remove": [
    ["Remove a user", "croft team member remove acme/writers mira --yes"],
    ["Show the request only", "croft team member remove acme/writers mira --dry-run"],
  ],
  "team repo list": [
    ["List the repositories of a team", "croft team repo list acme/writers"],
    ["Print their names", "croft team repo list acme/writers --jq '.[].full_name'"],
  ],
  "team repo add": [
    ["Give a team a repository", "croft team repo add acme/writers acme/notes"],
    ["Show the request only", "croft team repo add acme/writers acme/notes --dry-run"],
  ],
  "team repo remove": [
    ["Remove a repository from a team", "croft team repo remove acme/writers acme/notes --yes"],
    ["Show the request only", "croft team repo remove acme/writers acme/notes --dry-run"],
  ],
  "template gitignore list": [
    ["List the templates", "croft template gitignore list"],
    ["Print their names", "croft template gitignore list --jq '.[]'"],
  ],
  "template gitignore view": [
    ["Print a template", "croft template gitignore view Node"],
    ["Write it to a file", "croft template gitignore view Node > .gitignore"],
  ],
  "template label list": [
    ["List label sets", "croft template label list"],
    ["Print their names", "croft template label list --jq '.[]'"],
  ],
  "template label view": [
    ["Show the labels of a set", "croft template label view Default"],
    [
      "Print names and colours",
      "croft template label view Default --template '{{.name}} {{.color}}'",
    ],
  ],
  "template license list": [
    ["List licenses", "croft template license list"],
    ["Print their keys", "croft template license list --jq '.[].key'"],
  ],
  "template license view": [
    ["Print a license", "croft template license view MIT"],
    ["Write it to a file", "croft template license view MIT > LICENSE"],
  ],
  "render markdown": [
    ["Render a file as HTML", "croft render markdown notes.md"],
    ["Read a file in the terminal", "croft render markdown notes.md --terminal"],
  ],
  "render markup": [
    ["Render a file as HTML", "croft render markup notes.md"],
    [
      "Render standard input as the file that it is",
      "croft render markup - --file-path docs/notes.md < notes.md",
    ],
  ],
  "org avatar set": [
    ["Upload a picture", "croft org avatar set acme face.png"],
    ["Show the request only", "croft org avatar set acme face.png --dry-run"],
  ],
  "org avatar delete": [
    ["Go back to the drawn picture", "croft org avatar delete acme --yes"],
    ["Show the request only", "croft org avatar delete acme --dry-run"],
  ],
  "issue attach": [
    ["Attach a file to an issue", "croft issue attach keeper/notes#7 report.pdf"],
    [
      "Attach standard input to a comment",
      "croft issue attach keeper/notes#7 - --name notes.md --comment 31 < notes.md",
    ],
  ],
  "issue attachment list": [
    ["List the files of an issue", "croft issue attachment list keeper/notes#7"],
    ["List the files of a comment", "croft issue attachment list keeper/notes#7 --comment 31"],
  ],
  "issue attachment download": [
    ["Download a file under its name", "croft issue attachment download keeper/notes#7 7"],
    [
      "Download it to another file",
      "croft issue attachment download keeper/notes#7 7 --output copy.pdf",
    ],
  ],
  "issue attachment rename": [
    ["Rename a file", "croft issue attachment rename keeper/notes#7 7 minutes.pdf"],
    [
      "Show the request only",
      "croft issue attachment rename keeper/notes#7 7 minutes.pdf --dry-run",
    ],
  ],
  "issue attachment delete": [
    ["Delete a file", "croft issue attachment delete keeper/notes#7 7 --yes"],
    ["Show the request only", "croft issue attachment delete keeper/notes#7 7 --dry-run"],
  ],
};
