import { pathsOf, type SettingPaths } from "./paths.ts";
import type { SettingType } from "./types.ts";

/** The inputs of a default. */
export interface DefaultContext {
  readonly paths: SettingPaths;
  readonly platform: string;
}

/**
 * The declaration of one setting. Parsing, `croft config list`, the flags and the reference page are derived from it.
 */
export interface Setting<T> {
  readonly type: SettingType<T>;
  readonly help: string;
  readonly group: SettingGroup;
  /** The default value; undefined when the setting is optional. */
  default(context: DefaultContext): T;
  /** Describes the default in the reference where the value alone is not clear. */
  readonly defaultText: string | undefined;
  /** The flag as commander takes it. A secret never has one. */
  readonly flag: string | undefined;
  /** Whether the value is never printed. */
  readonly secret: boolean;
  /** Whether the config file cannot have it, because it locates that file or is too secret for it. */
  readonly outsideFile: boolean;
}

export type SettingGroup =
  | "Places"
  | "Listening"
  | "Storage"
  | "Limits"
  | "Accounts and keys"
  | "Other services"
  | "Logs"
  | "Command line";

interface Details {
  readonly help: string;
  readonly flag?: string;
  readonly secret?: true;
  readonly outsideFile?: true;
}

/** Declares a setting with a default. */
export function setting<T>(
  group: SettingGroup,
  type: SettingType<T>,
  byDefault: NoInfer<T> | ((context: DefaultContext) => NoInfer<T>),
  details: Details & { readonly defaultText?: string },
): Setting<T> {
  return {
    ...complete(group, details),
    type,
    default: (context) =>
      typeof byDefault === "function"
        ? (byDefault as (context: DefaultContext) => T)(context)
        : byDefault,
    defaultText: details.defaultText,
  };
}

/** Declares a setting that may be absent; `defaultText` describes the behaviour without it. */
export function optional<T>(
  group: SettingGroup,
  type: SettingType<T>,
  defaultText: string,
  details: Details,
): Setting<T | undefined> {
  return {
    ...complete(group, details),
    type: {
      takes: type.takes,
      read: (input, context) => type.read(input, context),
      ...(type.show && {
        show: (value: T | undefined) => (value === undefined ? value : type.show?.(value)),
      }),
    },
    default: () => undefined,
    defaultText,
  };
}

function complete(group: SettingGroup, { help, flag, secret, outsideFile }: Details) {
  return { group, help, flag, secret: secret ?? false, outsideFile: outsideFile ?? false };
}

/** Returns a default: the folder of this name in the data folder. */
export function inData(folder: string): (context: DefaultContext) => string {
  return ({ paths, platform }) => pathsOf(platform).join(paths.dataDirectory, folder);
}

/** Variables that other programs of croft read, so they are not reported as unknown. A `*` matches any ending. */
export const otherVariables: Readonly<Record<string, string>> = {
  CROFT_NODE: "the Node that the launcher runs croft on when its own is too old",
  CROFT_CACHE_DIR:
    "where the launcher stores compiled and unpacked files; the single executable unpacks into `state/cache` of a home that is named",
  "CROFT_TEST_*": "the tests'",
};
