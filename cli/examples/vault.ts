import type { Examples } from "./examples.ts";

/** Examples of `croft vault` except connected storage. */
export const examples: Examples = {
  "vault register": [
    [
      "Register and choose a password",
      "croft vault register --handle mira --email mira@example.org --password-stdin < password.txt",
    ],
    [
      "Show the request only",
      "croft vault register --handle mira --email mira@example.org --password-stdin --dry-run < password.txt",
    ],
  ],
  "vault me": [
    ["Show your account", "croft vault me"],
    ["Print your handle", "croft vault me --jq .handle"],
  ],
  "vault quota": [
    ["Show your storage usage", "croft vault quota"],
    ["Print it as YAML", "croft vault quota --format yaml"],
  ],
  "vault preference get": [
    ["Show your preferences", "croft vault preference get"],
    ["Print where new documents are stored", "croft vault preference get --json"],
  ],
  "vault preference set": [
    ["Store new documents in a provider", "croft vault preference set default-storage webdav"],
    ["Open PDF files in a new tab", "croft vault preference set --pdf-open-mode new_tab"],
  ],
  "vault session list": [
    ["List your sessions", "croft vault session list"],
    ["Print them as JSON", "croft vault session list --json"],
  ],
  "vault session revoke": [
    ["Revoke one session", "croft vault session revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
    ["Revoke all sessions, this one too", "croft vault session revoke --everywhere"],
  ],
  "vault token list": [
    ["List your tokens", "croft vault token list"],
    ["Print their names", "croft vault token list --jq '.[].name'"],
  ],
  "vault token create": [
    ["Create a token that reads", "croft vault token create backup --scope read --expires 90d"],
    ["Print the token only", "croft vault token create sync --scope write --jq .token"],
  ],
  "vault token revoke": [
    ["Revoke a token", "croft vault token revoke backup --yes"],
    ["Show the request only", "croft vault token revoke backup --dry-run"],
  ],
  "vault password change": [
    ["Change your password", "croft vault password change --password-stdin < passwords.txt"],
    [
      "Show the request only",
      "croft vault password change --password-stdin --dry-run < passwords.txt",
    ],
  ],
  "vault password reset": [
    ["Mail yourself a link", "croft vault password reset --email mira@example.org"],
    ["Show the request only", "croft vault password reset --email mira@example.org --dry-run"],
  ],
  "vault password confirm": [
    [
      "Set a new password with the link of the mail",
      "croft vault password confirm --password-stdin < reset.txt",
    ],
    [
      "Show the request only",
      "croft vault password confirm --password-stdin --dry-run < reset.txt",
    ],
  ],
  "vault totp setup": [
    ["Show a secret for your authenticator app", "croft vault totp setup"],
    ["Print it as JSON", "croft vault totp setup --json"],
  ],
  "vault totp enable": [
    ["Enable the second factor", "croft vault totp enable 123456"],
    ["Show the request only", "croft vault totp enable 123456 --dry-run"],
  ],
  "vault totp disable": [
    ["Disable the second factor", "croft vault totp disable --yes"],
    ["Show the request only", "croft vault totp disable --dry-run"],
  ],
  "vault document upload": [
    ["Upload a document", "croft vault document upload report.pdf"],
    ["Upload a folder", "croft vault document upload photos -r"],
    [
      "Upload standard input under a name",
      "croft vault document upload - --name notes.md < notes.md",
    ],
    [
      "Print the topics once it is classified",
      "croft vault document upload report.pdf --wait --timeout 5m --jq '.topics[]'",
    ],
    [
      "In a script that may run again: only the new files of a folder",
      "croft vault document upload photos -r --if-absent",
    ],
  ],
  "vault document list": [
    ["List your documents", "croft vault document list"],
    [
      "List documents of a topic with these words",
      'croft vault document list --topic Invoices --query "gas bill"',
    ],
    [
      "List PDF files that have no topic",
      "croft vault document list --no-topics --type application/pdf",
    ],
  ],
  "vault document view": [
    ["Show a document", "croft vault document view 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
    ["Print its name", "croft vault document view 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --jq .name"],
  ],
  "vault document download": [
    [
      "Download a document under its name",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
    ],
    [
      "Download it to a file",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 -o copy.pdf",
    ],
    [
      "Download several to a folder",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab -o papers",
    ],
  ],
  "vault document edit": [
    [
      "Rename a document",
      "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --name report.pdf",
    ],
    [
      "Set its topics",
      "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --topic Invoices",
    ],
    [
      "Add a topic to several documents",
      "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab --add-topic Taxes",
    ],
  ],
  "vault document classify": [
    [
      "Extract the text again",
      "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
    ],
    [
      "Show the request only",
      "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
    ],
    [
      "Wait for the result",
      "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --wait --timeout 5m",
    ],
  ],
  "vault document delete": [
    ["Delete a document", "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --yes"],
    [
      "Keep the copy at the provider",
      "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --remove-only --yes",
    ],
    [
      "Delete several documents",
      "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab --yes",
    ],
  ],
  "vault share create": [
    [
      "Let a user view a document",
      "croft vault share create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --to otto",
    ],
    [
      "Let a user download it",
      "croft vault share create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --to otto --permission download",
    ],
  ],
  "vault share list": [
    ["List the shares you gave", "croft vault share list"],
    ["List the shares you received", "croft vault share list --received"],
  ],
  "vault share edit": [
    [
      "Let the other user download",
      "croft vault share edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --permission download",
    ],
    [
      "Let the other user view only",
      "croft vault share edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --permission view",
    ],
  ],
  "vault share revoke": [
    ["Revoke a share", "croft vault share revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
    [
      "Show the request only",
      "croft vault share revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
    ],
  ],
  "vault topic list": [
    ["List topics", "croft vault topic list"],
    ["Print their names", "croft vault topic list --jq '.[].name'"],
  ],
  "vault topic create": [
    ["Create a topic", 'croft vault topic create Invoices --description "Bills and invoices"'],
    ["Create a topic for every user", "croft vault topic create Invoices --system"],
    ["In a script that may run again", "croft vault topic create Invoices --if-absent"],
  ],
  "vault topic edit": [
    ["Rename a topic", "croft vault topic edit Invoices --name Bills"],
    [
      "Change its description",
      'croft vault topic edit Invoices --description "Bills, invoices and receipts"',
    ],
  ],
  "vault topic delete": [
    ["Delete a topic", "croft vault topic delete Invoices --yes"],
    ["Show the request only", "croft vault topic delete Invoices --dry-run"],
  ],
  "vault search": [
    ["Search documents and files", "croft vault search gas bill"],
    ["Search PDF files for a phrase", "croft vault search '\"gas bill\"' --type application/pdf"],
  ],
  "vault analysis get": [
    ["Show your settings", "croft vault analysis get"],
    ["Print them as YAML", "croft vault analysis get --format yaml"],
  ],
  "vault analysis set": [
    ["Keep at most 512 MiB of files", "croft vault analysis set --cache-limit 512MiB"],
    ["Analyse new files", "croft vault analysis set --auto-analyze on --max-analyze 20MiB"],
  ],
  "vault admin user list": [
    ["List users", "croft vault admin user list"],
    ["List the active administrators", "croft vault admin user list --role admin --active true"],
  ],
  "vault admin user create": [
    ["Create a user", "croft vault admin user create --handle otto --email otto@example.org"],
    [
      "Create an administrator",
      "croft vault admin user create --handle otto --email otto@example.org --role admin",
    ],
    [
      "In a script that may run again",
      "croft vault admin user create --handle otto --email otto@example.org --if-absent --jq .id",
    ],
  ],
  "vault admin user activate": [
    ["Activate a user", "croft vault admin user activate mira"],
    ["Show the request only", "croft vault admin user activate mira --dry-run"],
  ],
  "vault admin user deactivate": [
    ["Deactivate a user; sessions end", "croft vault admin user deactivate mira"],
    ["Show the request only", "croft vault admin user deactivate mira --dry-run"],
  ],
  "vault admin user reset-password": [
    ["Mail a user a link to choose a new password", "croft vault admin user reset-password mira"],
    ["Show the request only", "croft vault admin user reset-password mira --dry-run"],
  ],
  "vault admin user delete": [
    ["Delete a user with all documents", "croft vault admin user delete mira --yes"],
    ["Show the request only", "croft vault admin user delete mira --dry-run"],
  ],
  "vault admin user local-folder list": [
    ["List the folders that a user may connect", "croft vault admin user local-folder list mira"],
    ["Print their paths as JSON", "croft vault admin user local-folder list mira --json"],
  ],
  "vault admin user local-folder set": [
    [
      "Let a user connect two folders",
      "croft vault admin user local-folder set mira /srv/papers /srv/photos",
    ],
    ["Take all folders back", "croft vault admin user local-folder set mira"],
  ],
  "vault admin quota view": [
    ["Show the quota of a user", "croft vault admin quota view mira"],
    ["Print it as JSON", "croft vault admin quota view mira --json"],
  ],
  "vault admin quota set": [
    ["Set the quota of a user", "croft vault admin quota set mira --limit 20GiB"],
    ["Show the request only", "croft vault admin quota set mira --limit 20GiB --dry-run"],
  ],
  "vault admin ai view": [
    ["Show the AI providers", "croft vault admin ai view"],
    ["Print them as JSON", "croft vault admin ai view --json"],
  ],
  "vault admin ai set": [
    [
      "Use a model on this machine",
      "croft vault admin ai set ollama --model llama3.2 --base-url http://127.0.0.1:11434",
    ],
    [
      "Use OpenAI with a key from a file",
      "croft vault admin ai set openai --model gpt-5-mini --key-stdin < api-key.txt",
    ],
  ],
  "vault admin ai models": [
    ["List the models of a provider", "croft vault admin ai models ollama"],
    ["Print their names", "croft vault admin ai models ollama --json"],
  ],
  "vault admin ai test": [
    ["Test a provider", "croft vault admin ai test ollama --model llama3.2"],
    [
      "Test it at another address",
      "croft vault admin ai test ollama --model llama3.2 --base-url http://127.0.0.1:11434",
    ],
  ],
  "vault admin audit list": [
    ["List the latest records", "croft vault admin audit list"],
    [
      "List sign-ins of a user since a day",
      "croft vault admin audit list --user mira --event auth --from 2026-11-20",
    ],
  ],
  "vault admin audit export": [
    ["Write all records to a file", "croft vault admin audit export > audit.csv"],
    [
      "Write the records of a month",
      "croft vault admin audit export --from 2026-11-01 --to 2026-12-01 > november.csv",
    ],
  ],
  "vault admin audit daily list": [
    ["List the stored days", "croft vault admin audit daily list"],
    ["Print the newest one as JSON", "croft vault admin audit daily list --limit 1 --json"],
  ],
  "vault admin audit daily download": [
    [
      "Save the records of a day",
      "croft vault admin audit daily download 2026-11-20 > 2026-11-20.csv",
    ],
    ["Count them", "croft vault admin audit daily download 2026-11-20 | wc -l"],
  ],
  "vault admin overview": [
    ["Show users, storage and recent events", "croft vault admin overview"],
    ["Print it as YAML", "croft vault admin overview --format yaml"],
  ],
};
