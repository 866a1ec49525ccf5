import { commandLineSettings } from "./command-line.ts";
import { cronSchedule } from "./cron-schedule.ts";
import { inData, optional, type Setting, setting } from "./declare.ts";
import { limitDeclarations } from "./limits.ts";
import { signInDeclarations } from "./sign-in.ts";
import {
  address,
  addressRanges,
  bucketUrl,
  byteSize,
  filePath,
  filePaths,
  hostAddress,
  hostNames,
  integer,
  masterKeys,
  onOff,
  oneOf,
  origins,
  passphrase,
  passwordComplexity,
  orWord,
  text,
  tlsMode,
} from "./types.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const day = 86_400;

/**
 * Every setting by its name in code. `toKey` derives its key in the config file, `toVariable` its environment variable.
 * Values are validated once at start; nothing below the entry files reads the environment.
 */
export const settingDeclarations = {
  home: optional("Places", filePath, "platform folders", {
    help: "One folder for configuration, data, state and cache",
    flag: "--home <folder>",
    outsideFile: true,
  }),
  config: optional("Places", filePath, "config.yaml in the configuration folder", {
    help: "The config file",
    flag: "--config <file>",
    outsideFile: true,
  }),

  host: setting("Listening", hostAddress, "127.0.0.1", {
    help: "Address to listen on; off loopback it takes TLS or insecure_http",
    flag: "--host <address>",
  }),
  port: setting("Listening", integer(0, 65_535), 7420, {
    help: "Port for http; 0 takes a free one",
    flag: "--port <number>",
  }),
  tls: setting(
    "Listening",
    tlsMode,
    { kind: "off" },
    {
      help: "Serve https as well: with a self-signed certificate (self) or with CERT,KEY",
      flag: "--tls <self|CERT,KEY>",
    },
  ),
  tlsPort: optional(
    "Listening",
    integer(0, 65_535),
    "the port after port; a free one when that is 0",
    {
      help: "Port for https",
      flag: "--tls-port <number>",
    },
  ),
  ssh: setting("Listening", onOff, true, {
    help: "Serve git over SSH",
    flag: "--ssh <on|off>",
  }),
  sshPort: optional(
    "Listening",
    integer(0, 65_535),
    "the second port after port; a free one when that is 0",
    {
      help: "Port for SSH",
      flag: "--ssh-port <number>",
    },
  ),
  sshPublicPort: optional("Listening", integer(1, 65_535), "the port that SSH listens on", {
    help: "Port for SSH in the addresses that are handed out, where another one is forwarded",
  }),
  insecureHttp: setting("Listening", onOff, false, {
    help: "Allow plain http off loopback",
    flag: "--insecure-http",
  }),
  publicUrl: optional("Listening", address("http", "https"), "the listening address", {
    help: "Base of every link that the forge API hands out",
    flag: "--public-url <url>",
  }),
  frontendUrl: optional("Listening", address("http", "https"), "public_url", {
    help: "Base of the password-reset link",
  }),
  allowedHosts: setting("Listening", hostNames, [], {
    help: "Host names that requests may name besides the loopback names, the listening address and public_url",
    defaultText: "none",
  }),
  allowedOrigins: setting("Listening", origins, [], {
    help: "Origins of other web pages that may call the APIs (CORS)",
    defaultText: "none",
  }),
  trustedProxies: setting(
    "Listening",
    addressRanges,
    ["127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128"],
    { help: "Peers whose X-Forwarded-For header is trusted; with none the header is ignored" },
  ),
  headersTimeoutSeconds: setting("Listening", integer(1, 3600, "seconds"), 15, {
    help: "Time for the head of a request to arrive",
  }),
  idleTimeoutSeconds: setting("Listening", integer(1, 3600, "seconds"), 60, {
    help: "Time without any byte after which a connection is closed",
  }),
  requestTimeoutSeconds: setting("Listening", integer(0, 7 * day, "seconds"), 6 * 3600, {
    help: "Time for a whole request to arrive, uploads included; 0 is no limit. An upload that brings less than 8 KiB in a minute is ended before",
  }),
  metricsToken: optional("Listening", text, "this machine without a proxy may read them", {
    help: "Bearer token that /metrics demands",
    secret: true,
  }),
  shutdownSeconds: setting("Listening", integer(0, 600, "seconds"), 10, {
    help: "Time that running requests get to finish when the daemon stops",
  }),

  databaseUrl: optional("Storage", address("postgres", "postgresql"), "SQLite in the data folder", {
    help: "PostgreSQL instead of SQLite",
    secret: true,
  }),
  // Keys have their own settings, but some users put them into the URL: messages must not show them.
  objectsUrl: optional("Storage", bucketUrl, "files in the data folder", {
    help: "Bucket for the bytes of packages, of Amazon S3 or a server that speaks like it",
    secret: true,
  }),
  objectsAccessKeyId: optional("Storage", text, "none", {
    help: "Id of the access key for the bucket of objects_url",
    secret: true,
  }),
  objectsSecretAccessKey: optional("Storage", text, "none", {
    help: "Its secret",
    secret: true,
  }),
  backupFolder: optional("Storage", filePath, "no scheduled backups in a folder", {
    help: "Where scheduled backups of the whole home are written, as croft daemon backup does",
  }),
  // Secret for the same reason as `objects_url`.
  backupUrl: optional("Storage", bucketUrl, "no scheduled backups in a bucket", {
    help: "Folder of a bucket for scheduled backups of the whole home, as croft daemon backup --to writes them",
    secret: true,
  }),
  backupAccessKeyId: optional("Storage", text, "the key of objects_url", {
    help: "Id of the access key for backups in a bucket",
    secret: true,
  }),
  backupSecretAccessKey: optional("Storage", text, "the secret of objects_url", {
    help: "Its secret",
    secret: true,
  }),
  backupSchedule: setting("Storage", cronSchedule, "45 3 * * *", {
    help: "When scheduled backups are made, in the server's time zone",
  }),
  backupKept: setting("Storage", integer(1, 1_000, "backups"), 7, {
    help: "Scheduled backups that are kept in the folder, and as many in the bucket; older ones are deleted",
  }),
  backupPassphrase: optional("Storage", passphrase, "backups without keys", {
    help: "Seals the keys in scheduled backups",
    secret: true,
  }),
  repositoriesDir: setting("Storage", filePath, inData("repositories"), {
    help: "Bare repositories, OWNER/NAME.git",
    defaultText: "repositories in the data folder",
  }),
  uploadsDir: setting("Storage", filePath, inData("uploads"), {
    help: "The bytes of uploads that are sent in parts; several daemons share one folder",
    defaultText: "uploads in the data folder",
  }),
  localRoots: setting("Storage", filePaths, (context) => [inData("files")(context)], {
    help: "Folders of the server in which each vault account has a folder of its own, by its handle",
    defaultText: "files in the data folder",
  }),
  byteCacheBytes: setting("Storage", byteSize(0), 512 * mebibyte, {
    help: "Byte cache of a user who has not set an own limit",
  }),
  listingMaxAgeSeconds: setting("Storage", integer(0, 365 * day, "seconds"), 300, {
    help: "Age at which the listing of a cloud folder is fetched again",
  }),
  ocr: setting("Storage", onOff, false, {
    help: "Recognise text in images and scanned PDFs (English print); takes seconds a page",
  }),
  trashDays: setting("Storage", integer(0, 36_500, "days"), 30, {
    help: "How long deleted documents of the vault stay in the trash; 0 deletes them at once",
  }),
  documentVersions: setting("Storage", integer(0, 1_000, "versions"), 10, {
    help: "Earlier contents of a vault document that are kept; they count towards the quota",
  }),
  inbox: setting("Storage", onOff, false, {
    help: "Take in files that are put into the folder inbox/HANDLE of the data directory as documents of that vault account",
  }),
  artifactDays: setting("Storage", integer(1, 36_500, "days"), 90, {
    help: "How long artifacts of workflow runs are kept; a job may name a shorter time",
  }),
  workflowLogDays: setting("Storage", integer(1, 36_500, "days"), 365, {
    help: "How long the logs of workflow jobs are kept",
  }),
  workflowRunDays: setting("Storage", integer(1, 36_500, "days"), 400, {
    help: "How long workflow runs are kept, with their jobs",
  }),
  activityDays: setting("Storage", integer(0, 36_500, "days"), 0, {
    help: "How long activity of forge users is kept; 0 keeps it",
  }),
  auditDays: setting("Storage", integer(0, 36_500, "days"), 0, {
    help: "How long the vault's audit records are kept; 0 keeps them",
  }),
  auditExportDays: setting("Storage", integer(1, 36_500, "days"), 400, {
    help: "How long daily audit exports are kept",
  }),

  ...limitDeclarations,

  links: setting("Accounts and keys", onOff, true, {
    help: "Links of the vault for people without an account; off closes all of them",
  }),
  allowRegistration: setting("Accounts and keys", onOff, true, { help: "Vault self-registration" }),
  vaultInvitations: setting(
    "Accounts and keys",
    oneOf("administrators", "users"),
    "administrators",
    {
      help: "Who invites people to the vault; with users, a document is shared with an e-mail address as well, whose owner may then create an account",
    },
  ),
  minPasswordLength: setting("Accounts and keys", integer(6, 128, "characters"), 8, {
    help: "Least length of a forge password",
  }),
  passwordComplexity: setting("Accounts and keys", passwordComplexity, [], {
    help: "Kinds of characters that a forge password must contain: lower, upper, digit, spec",
    defaultText: "off",
  }),
  passwordCheckPwn: setting("Accounts and keys", onOff, false, {
    help: "Refuse forge passwords that appeared in a data breach; breach_url is the address of the lookup",
  }),
  accessTokenSeconds: setting("Accounts and keys", integer(1, day, "seconds"), 900, {
    help: "Life of a vault access token",
  }),
  instanceName: setting("Accounts and keys", text, "croft", {
    help: "Name of this instance in authenticator apps and mails",
  }),
  keySource: setting("Accounts and keys", oneOf("auto", "keyring", "file"), "auto", {
    help: "Where a new master key is kept; auto takes the keyring when it works, else a file",
  }),
  masterKey: optional("Accounts and keys", masterKeys, "kept by key_source", {
    help: "The master key, for servers; of several the newest first",
    secret: true,
    outsideFile: true,
  }),

  ...signInDeclarations,

  breachUrl: setting(
    "Other services",
    orWord(address("http", "https"), "off"),
    "https://api.pwnedpasswords.com",
    { help: "Pwned Passwords range protocol (/range/XXXXX); off uses the bundled list only" },
  ),
  smtpUrl: optional(
    "Other services",
    address("smtp", "smtps"),
    "mails become files in the outbox",
    {
      help: "Mail server: smtp://user:pass@host:port; mails about workflow runs are sent only with one",
      secret: true,
    },
  ),
  mailFrom: setting("Other services", text, "croft <croft@localhost>", {
    help: "Sender of every mail",
  }),
  googleClientId: optional("Other services", text, "none", {
    help: "Google Drive OAuth application",
  }),
  googleClientSecret: optional("Other services", text, "none", {
    help: "Its secret",
    secret: true,
  }),
  googleBaseUrl: optional("Other services", address("http", "https"), "the public service", {
    help: "One origin in place of Google's, for stand-ins",
  }),
  onedriveClientId: optional("Other services", text, "none", {
    help: "OneDrive OAuth application",
  }),
  onedriveClientSecret: optional("Other services", text, "none", {
    help: "Its secret",
    secret: true,
  }),
  onedriveTenantId: optional("Other services", text, "none", {
    help: "Its tenant: an organization's id, or `common`, `consumers`, `organizations`",
  }),
  onedriveBaseUrl: optional("Other services", address("http", "https"), "the public service", {
    help: "One origin in place of Microsoft's, for stand-ins",
  }),
  dropboxClientId: optional("Other services", text, "none", { help: "Dropbox OAuth application" }),
  dropboxClientSecret: optional("Other services", text, "none", {
    help: "Its secret",
    secret: true,
  }),
  dropboxBaseUrl: optional("Other services", address("http", "https"), "the public service", {
    help: "One origin in place of Dropbox's, for stand-ins",
  }),

  logLevel: setting(
    "Logs",
    oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
    { help: "Lowest level that is logged", flag: "--log-level <level>" },
  ),
  logFormat: setting("Logs", oneOf("auto", "pretty", "json"), "auto", {
    help: "auto is pretty on a terminal and JSON otherwise",
    flag: "--log-format <format>",
  }),

  ...commandLineSettings,
};

export type SettingName = keyof typeof settingDeclarations;

/** All settings, resolved and frozen. */
export type Settings = {
  readonly [N in SettingName]: (typeof settingDeclarations)[N] extends Setting<infer T> ? T : never;
};

/** All declarations with their names, in the order of the reference. */
export function listSettings(): readonly (readonly [SettingName, Setting<unknown>])[] {
  return Object.entries(settingDeclarations) as [SettingName, Setting<unknown>][];
}

/** The key in the config file: `publicUrl` is `public_url`. */
export function toKey(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The environment variable: `publicUrl` is `CROFT_PUBLIC_URL`. */
export function toVariable(name: SettingName): string {
  return `CROFT_${toKey(name).toUpperCase()}`;
}
