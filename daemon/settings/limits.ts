import { setting } from "./declare.ts";
import { byteSize, integer, oneOf, onOff } from "./types.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const gibibyte = 1024 * mebibyte;
const day = 86_400;

/** The settings that bound what callers may use. */
export const limitDeclarations = {
  rateLimits: setting("Limits", onOff, true, {
    help: "Request limits per address and account; off is for measurements only",
  }),
  cloudRequestsPerMinute: setting("Limits", integer(1, 1_000_000, "requests"), 100, {
    help: "Requests of one account to each cloud and document route in a minute; the item detail allows a fifth more",
  }),
  maxBodyBytes: setting("Limits", byteSize(kibibyte), mebibyte, {
    help: "Largest JSON body of a request",
  }),
  maxUploadBytes: setting("Limits", byteSize(0), 5 * gibibyte, { help: "Largest upload" }),
  maxRunArtifactBytes: setting("Limits", byteSize(0), 20 * gibibyte, {
    help: "Artifacts of one workflow run in all",
  }),
  maxRepositoryLfsBytes: setting("Limits", byteSize(0), 0, {
    help: "Git LFS files of one repository in all; 0 is no limit",
  }),
  maxOwnerContainerBytes: setting("Limits", byteSize(0), 0, {
    help: "Container images of one user or organization in all; 0 is no limit",
  }),
  maxOwnerPackageBytes: setting("Limits", byteSize(0), 0, {
    help: "Files of generic, npm and Python packages of one user or organization in all; 0 is no limit",
  }),
  maxImportBytes: setting("Limits", byteSize(0), 10 * gibibyte, {
    help: "Most bytes that an import reads of another server: of code, of files and of pages of its API, each; and one update of a mirror",
  }),
  mirrorIntervalSeconds: setting("Limits", integer(60, 366 * day, "seconds"), 8 * 3600, {
    help: "How often a mirror that names no interval is compared with its source",
  }),
  minMirrorIntervalSeconds: setting("Limits", integer(1, 366 * day, "seconds"), 600, {
    help: "Shortest interval that a mirror may name",
  }),
  defaultQuotaBytes: setting("Limits", byteSize(0), 100 * mebibyte, {
    help: "Storage of a newly registered vault user",
  }),
  addressPolicy: setting("Limits", oneOf("home", "public", "open"), "home", {
    help: "Addresses that user-given servers and hooks may have: home (private and loopback too, never link-local, metadata or the daemon itself), public (no private ones), open",
  }),
} as const;
