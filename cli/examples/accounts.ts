import type { Examples } from "./examples.ts";

/** Examples of accounts and credentials. */
export const examples: Examples = {
  "login forge": [
    [
      "Sign in with a password",
      "croft login forge --username mira --password-stdin < password.txt",
    ],
    ["Sign in with an access token", "croft login forge --token-stdin < token.txt"],
  ],
  "login vault": [
    ["Sign in", "croft login vault --email mira@example.org --password-stdin < password.txt"],
    [
      "Stay signed in for 30 days",
      "croft login vault --email mira@example.org --remember --password-stdin < password.txt",
    ],
  ],
  logout: [
    ["Sign out of forge and vault", "croft logout"],
    ["Sign out of the vault only", "croft logout vault"],
  ],
  whoami: [
    ["Show your accounts", "croft whoami"],
    ["Print your name at the forge", "croft whoami --jq .forge.login"],
  ],
  "account password": [
    ["Change your password", "croft account password --password-stdin < passwords.txt"],
    [
      "Change it with a second factor",
      "croft account password --totp 123456 --password-stdin < passwords.txt",
    ],
  ],
  "token list": [
    ["List your access tokens", "croft token list"],
    [
      "Print name and scopes",
      'croft token list --jq \'.[] | "\\(.name) \\(.scopes | join(","))"\'',
    ],
  ],
  "token create": [
    ["Create a token that reads repositories", "croft token create backup --scope read:repository"],
    ["Print the token only", "croft token create ci --scope write:repository --jq .sha1"],
  ],
  "token delete": [
    ["Delete a token by its name", "croft token delete backup --yes"],
    ["Show the request only", "croft token delete 7 --dry-run"],
  ],
  "ssh-key list": [
    ["List your public keys", "croft ssh-key list"],
    ["Print their fingerprints", "croft ssh-key list --jq '.[].fingerprint'"],
  ],
  "ssh-key add": [
    ["Add a key", "croft ssh-key add laptop.pub"],
    ["Add a key with a title", 'croft ssh-key add laptop.pub --title "My laptop"'],
    ["In a script that may run again", "croft ssh-key add laptop.pub --if-absent"],
  ],
  "ssh-key delete": [
    ["Delete a key", "croft ssh-key delete 4 --yes"],
    ["Show the request only", "croft ssh-key delete 4 --dry-run"],
  ],
  "email list": [
    ["List your addresses", "croft email list"],
    ["Print those that are verified", "croft email list --jq '.[] | select(.verified) | .email'"],
  ],
  "email add": [
    ["Add an address", "croft email add mira@example.net"],
    ["Add two addresses", "croft email add mira@example.net mira@example.com"],
    ["In a script that may run again", "croft email add mira@example.net --if-absent"],
  ],
  "email delete": [
    ["Delete an address", "croft email delete mira@example.net"],
    ["Show the request only", "croft email delete mira@example.net --dry-run"],
  ],
  "totp status": [
    ["Show whether the second factor is on", "croft totp status"],
    ["Print true or false", "croft totp status --jq .enabled"],
  ],
  "totp setup": [
    [
      "Show a secret for your authenticator app",
      "croft totp setup --password-stdin < password.txt",
    ],
    [
      "Print the address for a QR code",
      "croft totp setup --password-stdin --jq .otpauth_url < password.txt",
    ],
  ],
  "totp enable": [
    ["Enable the second factor", "croft totp enable 123456 --password-stdin < password.txt"],
    ["Show the request only", "croft totp enable 123456 --password-stdin --dry-run < password.txt"],
  ],
  "totp disable": [
    [
      "Disable the second factor",
      "croft totp disable 123456 --password-stdin --yes < password.txt",
    ],
    [
      "Show the request only",
      "croft totp disable 123456 --password-stdin --dry-run < password.txt",
    ],
  ],
  "profile list": [
    ["List the profiles", "croft profile list"],
    ["Print their names", "croft profile list --jq '.[].name'"],
  ],
  "profile add": [
    ["Add a profile for another daemon", "croft profile add work --url https://croft.example.org"],
    [
      "Add it and use it from here on",
      "croft profile add work --url https://croft.example.org --use",
    ],
    [
      "In a script that may run again",
      "croft profile add work --url https://croft.example.org --if-absent",
    ],
  ],
  "profile use": [
    ["Use a profile", "croft profile use default"],
    ["Go back to it from a script", "croft profile use default --quiet"],
  ],
  "profile remove": [
    ["Remove a profile and its credentials", "croft profile remove default --yes"],
    ["Show what would be removed", "croft profile remove default --dry-run"],
  ],
  "account view": [
    ["Show your profile", "croft account view"],
    ["Print your language as JSON", "croft account view --json"],
  ],
  "account edit": [
    ["Change your full name", 'croft account edit --full-name "Mira Lind"'],
    ["Get no mails about your runs", "croft account edit --email-notifications disabled"],
    ["Show the request only", "croft account edit --location Bergen --dry-run"],
  ],
  "account avatar set": [
    ["Upload a picture", "croft account avatar set face.png"],
    ["Show the request only", "croft account avatar set face.png --dry-run"],
  ],
  "account avatar delete": [
    ["Go back to the drawn picture", "croft account avatar delete --yes"],
    ["Show the request only", "croft account avatar delete --dry-run"],
  ],
  "git setup": [
    ["Let git use your sign-in", "croft git setup --yes"],
    ["Take the entries away again", "croft git setup --undo --yes"],
  ],
  "git credential": [
    ["Answer a request of git", "croft git credential get < request.txt"],
    ["Forget a credential that was refused", "croft git credential erase < request.txt"],
  ],
  "user search": [
    ["Search for users", "croft user search mira"],
    ["Print the names of all users that you may see", "croft user search --all --jq '.[].login'"],
  ],
  "user view": [
    ["Show a user", "croft user view mira"],
    ["Print the full name", "croft user view mira --jq .full_name"],
  ],
  "user follow": [
    ["Follow a user", "croft user follow mira"],
    ["Show the request only", "croft user follow mira --dry-run"],
  ],
  "user unfollow": [
    ["Stop following", "croft user unfollow mira"],
    ["Show the request only", "croft user unfollow mira --dry-run"],
  ],
  "user followers": [
    ["List your followers", "croft user followers"],
    ["List those of another user", "croft user followers mira"],
  ],
  "user following": [
    ["List whom you follow", "croft user following"],
    ["List whom another user follows", "croft user following mira"],
  ],
  "account reset-password": [
    ["Mail yourself a link", "croft account reset-password --email mira@example.org"],
    ["Show the request only", "croft account reset-password --email mira@example.org --dry-run"],
  ],
  "account confirm-reset": [
    [
      "Set a new password with the link of the mail",
      "croft account confirm-reset --password-stdin < reset.txt",
    ],
    ["Show the request only", "croft account confirm-reset --password-stdin --dry-run < reset.txt"],
  ],
};
