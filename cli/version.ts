import manifest from "../package.json" with { type: "json" };

/** The version of croft. */
export const version: string = manifest.version;
