import type { Examples } from "./examples.ts";

/** Examples of connections and their items. */
export const examples: Examples = {
  "vault connection list": [
    ["List your connections", "croft vault connection list"],
    [
      "Print name and state",
      "croft vault connection list --template '{{.display_name}} {{.status}}'",
    ],
  ],
  "vault connection add": [
    [
      "Connect a folder of the server",
      "croft vault connection add local_folder --name Papers --setting root=/srv/papers",
    ],
    [
      "Connect a WebDAV server",
      "croft vault connection add webdav --name Cloud --setting url=https://dav.example.org --setting username=mira --credential-stdin password < password.txt",
    ],
    [
      "In a script that may run again",
      "croft vault connection add local_folder --name Papers --setting root=/srv/papers --if-absent --jq .id",
    ],
  ],
  "vault connection view": [
    ["Show a connection", "croft vault connection view Papers"],
    ["Print its provider", "croft vault connection view Papers --jq .provider"],
  ],
  "vault connection test": [
    ["Test a connection", "croft vault connection test Papers"],
    ["Print the result as JSON", "croft vault connection test Papers --json"],
  ],
  "vault connection edit": [
    ["Rename a connection", "croft vault connection edit Papers --name Archive"],
    [
      "Replace a credential",
      "croft vault connection edit Papers --credential-stdin password < password.txt",
    ],
  ],
  "vault connection reconnect": [
    [
      "Replace the password of a storage",
      "croft vault connection reconnect Papers --credential-stdin password < password.txt",
    ],
    [
      "Show the request only",
      "croft vault connection reconnect Papers --credential-stdin password --dry-run < password.txt",
    ],
  ],
  "vault connection authorize": [
    [
      "Print the address where you allow access",
      "croft vault connection authorize google_drive --name Drive",
    ],
    [
      "Renew the access of a connection",
      "croft vault connection authorize dropbox --connection Papers",
    ],
  ],
  "vault connection remove": [
    ["Remove a connection", "croft vault connection remove Papers --yes"],
    ["Show the request only", "croft vault connection remove Papers --dry-run"],
  ],
  "vault item list": [
    ["List a folder", "croft vault item list Papers:/2026"],
    [
      "Print names and sizes",
      "croft vault item list Papers:/2026 --template '{{.name}} {{.size}}'",
    ],
  ],
  "vault item tree": [
    ["List a folder and those below it", "croft vault item tree Papers:/"],
    ["Show two levels", "croft vault item tree Papers:/ --depth 2"],
  ],
  "vault item browse": [
    ["Browse all your storage", "croft vault item browse"],
    ["Begin in a folder", "croft vault item browse Papers:/2026"],
  ],
  "vault item view": [
    ["Show an item", "croft vault item view Papers:/2026/report.pdf"],
    ["Print its etag", "croft vault item view Papers:/2026/report.pdf --jq .etag"],
  ],
  "vault item capabilities": [
    ["Show what a storage supports", "croft vault item capabilities Papers:/"],
    [
      "Print the capabilities of a file as JSON",
      "croft vault item capabilities Papers:/2026/report.pdf --json",
    ],
  ],
  "vault item open": [
    ["Open a copy with the system's program", "croft vault item open Papers:/2026/report.pdf"],
    ["Print the address only", "croft vault item open Papers:/2026/report.pdf --print"],
  ],
  "vault item edit": [
    ["Edit a file with $EDITOR", "croft vault item edit Papers:/notes.md"],
    ["Edit it without a person", "croft vault item edit Papers:/notes.md --editor touch"],
    [
      "Only if it is still the version that was read",
      "croft vault item edit Papers:/notes.md --editor touch --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  "vault item sync": [
    ["Show what would be done", "croft vault item sync Papers:/2026 copies --dry-run"],
    ["Copy a folder to this machine", "croft vault item sync Papers:/2026 copies"],
  ],
  "vault item copy": [
    ["Copy a file", "croft vault item copy Papers:/notes.md Papers:/2026"],
    [
      "Copy a folder with everything in it",
      "croft vault item copy --recursive Papers:/2026 Papers:/archive",
    ],
    ["Show the request only", "croft vault item copy Papers:/notes.md Papers:/2026 --dry-run"],
  ],
  "vault item watch": [
    ["Print changes every ten seconds", "croft vault item watch Papers:/2026"],
    ["Print one object a line", "croft vault item watch Papers:/2026 --ndjson"],
  ],
  "vault item cat": [
    ["Print a file", "croft vault item cat Papers:/notes.md"],
    ["Join two files", "croft vault item cat Papers:/notes.md Papers:/more.md > all.md"],
  ],
  "vault item upload": [
    ["Upload a file", "croft vault item upload report.pdf Papers:/"],
    [
      "Upload a folder, without files that are there",
      "croft vault item upload -r photos Papers:/ --skip-existing",
    ],
    [
      "Replace the version that was read, and no later one",
      "croft vault item upload notes.md Papers:/notes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  "vault item download": [
    ["Download a file", "croft vault item download Papers:/2026/invoice.pdf"],
    [
      "Download a folder into another one",
      "croft vault item download -r Papers:/2026 --output copies",
    ],
  ],
  "vault item mkdir": [
    ["Create a folder", "croft vault item mkdir Papers:/2027"],
    ["Create the folders above it too", "croft vault item mkdir Papers:/2027/may --parents"],
    ["Show the request only", "croft vault item mkdir Papers:/2027 --dry-run"],
  ],
  "vault item rename": [
    ["Rename an item", "croft vault item rename Papers:/notes.md minutes.md"],
    [
      "Rename it only if it has not changed",
      "croft vault item rename Papers:/notes.md minutes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  "vault item move": [
    ["Move an item", "croft vault item move Papers:/notes.md Papers:/2026"],
    ["Move two items", "croft vault item move Papers:/notes.md Papers:/more.md Papers:/2026"],
    [
      "Only if it is still the version that was read",
      "croft vault item move Papers:/notes.md Papers:/archive --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  "vault item delete": [
    ["Delete an item", "croft vault item delete Papers:/notes.md --yes"],
    ["Show the request only", "croft vault item delete Papers:/notes.md --dry-run"],
    [
      "Only if it is still the version that was read",
      "croft vault item delete Papers:/notes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8 --yes",
    ],
  ],
  "vault item trash list": [
    ["List what was deleted", "croft vault item trash list Papers"],
    ["Print everything as JSON", "croft vault item trash list Papers --all --json"],
  ],
  "vault item trash restore": [
    ["Restore a file", "croft vault item trash restore Papers:/2026/old.pdf"],
    ["Show the request only", "croft vault item trash restore Papers:t1 --dry-run"],
  ],
  "vault item trash empty": [
    ["Remove all deleted items permanently", "croft vault item trash empty Papers --yes"],
    ["Show the request only", "croft vault item trash empty Papers --dry-run"],
  ],
  "vault item analyze": [
    ["Extract and classify the text of a file", "croft vault item analyze Papers:/2026/report.pdf"],
    ["Show the request only", "croft vault item analyze Papers:/2026/report.pdf --dry-run"],
    ["Wait for the result", "croft vault item analyze Papers:/2026/report.pdf --wait --timeout 5m"],
  ],
};
