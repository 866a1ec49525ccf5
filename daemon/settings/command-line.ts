import { optional, setting } from "./declare.ts";
import { address, integer, onOff, oneOf, text } from "./types.ts";

/** The settings of the command line, which a daemon does not use. */
export const commandLineSettings = {
  url: optional(
    "Command line",
    address("http", "https"),
    "the running daemon, else host and port",
    {
      help: "The daemon that commands talk to",
      flag: "--url <url>",
    },
  ),
  profile: optional("Command line", text, "the profile in use", {
    help: "Profile of addresses and credentials",
    flag: "--profile <name>",
  }),
  forgeToken: optional("Command line", text, "the stored credentials", {
    help: "Token for the forge API",
    secret: true,
  }),
  vaultToken: optional("Command line", text, "the stored credentials", {
    help: "Access token for the vault API",
    secret: true,
  }),
  tokenCommand: optional("Command line", text, "none", {
    help: "Command that prints the forge token",
  }),
  credentialStore: setting("Command line", oneOf("auto", "keyring", "file"), "auto", {
    help: "Where login keeps credentials; auto takes the keyring when it works, else a file of mode 0600",
    flag: "--credential-store <store>",
  }),
  updateUrl: optional("Command line", address("http", "https"), "no check", {
    help: "Where croft version --check finds the latest release: an address in the form of Gitea's releases/latest",
  }),
  noInput: setting("Command line", onOff, false, {
    help: "Never prompt; name the missing flag instead",
  }),
  completionMs: setting("Command line", integer(0, 60_000, "milliseconds"), 1_000, {
    help: "Time from its start in which croft finds values for completion; later it shows none. 0 turns it off",
  }),
};
