import { posix, win32 } from "node:path";

/** The inputs that determine croft's folders. Nothing is read from the process here. */
export interface PathEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `process.platform`. */
  readonly platform: string;
  /** The user's home directory, absolute. */
  readonly homeDirectory: string;
  /** Where relative paths of flags and variables start. */
  readonly workingDirectory: string;
}

/** Croft's folders and its config file, all absolute. */
export interface SettingPaths {
  /** `CROFT_HOME`, when everything lies in one folder. */
  readonly home: string | undefined;
  readonly configFile: string;
  readonly configDirectory: string;
  /** The daemon's data: database, objects, keys. Its layout is in `storage/data-directory.ts`. */
  readonly dataDirectory: string;
  /** State of programs that may be lost: logs, profiles in use. */
  readonly stateDirectory: string;
  /** Files that can be recreated. Never the byte cache, which belongs to the data. */
  readonly cacheDirectory: string;
}

/**
 * Returns the folders. With `home` everything is in that folder: the config file `config.yaml` and the data directory are
 * the folder itself, `state/` and `state/cache/` are below it, so one folder is one backup. Without it they are XDG's
 * folders (on macOS and Windows the system's own, where XDG names none).
 */
export function toSettingPaths(
  locations: { readonly home: string | undefined; readonly config: string | undefined },
  environment: PathEnvironment,
): SettingPaths {
  const { join, dirname } = pathsOf(environment.platform);
  const folders =
    locations.home === undefined ? platformFolders(environment) : homeFolders(locations.home, join);
  const configFile = locations.config ?? join(folders.configDirectory, "config.yaml");
  return { ...folders, home: locations.home, configFile, configDirectory: dirname(configFile) };
}

/** Makes `path` absolute: `~` is the home directory, a relative path starts in `from`. */
export function toAbsolutePath(path: string, from: string, environment: PathEnvironment): string {
  const { join, resolve } = pathsOf(environment.platform);
  const expanded = /^~(?=$|[/\\])/.test(path)
    ? join(environment.homeDirectory, path.slice(1))
    : path;
  return resolve(from, expanded);
}

/** The path rules of a platform. */
export function pathsOf(platform: string): typeof posix {
  return platform === "win32" ? win32 : posix;
}

type Folders = Omit<SettingPaths, "home" | "configFile">;

function homeFolders(home: string, join: typeof posix.join): Folders {
  return {
    configDirectory: home,
    dataDirectory: home,
    stateDirectory: join(home, "state"),
    cacheDirectory: join(home, "state", "cache"),
  };
}

function platformFolders({ env, platform, homeDirectory }: PathEnvironment): Folders {
  const { join, isAbsolute } = pathsOf(platform);
  // The XDG specification says that relative values are invalid and to be ignored.
  const folder = (name: string, otherwise: string): string => {
    const value = env[name];
    return join(value !== undefined && isAbsolute(value) ? value : otherwise, "croft");
  };
  if (platform === "win32") {
    const local = folder("LOCALAPPDATA", join(homeDirectory, "AppData", "Local"));
    return {
      configDirectory: folder("APPDATA", join(homeDirectory, "AppData", "Roaming")),
      dataDirectory: join(local, "data"),
      stateDirectory: join(local, "state"),
      cacheDirectory: join(local, "cache"),
    };
  }
  const mac = platform === "darwin";
  const support = join(homeDirectory, "Library", "Application Support");
  const data = folder("XDG_DATA_HOME", mac ? support : join(homeDirectory, ".local", "share"));
  return {
    configDirectory: folder("XDG_CONFIG_HOME", mac ? support : join(homeDirectory, ".config")),
    dataDirectory: data,
    stateDirectory:
      mac && env["XDG_STATE_HOME"] === undefined
        ? join(data, "state")
        : folder("XDG_STATE_HOME", join(homeDirectory, ".local", "state")),
    cacheDirectory: folder(
      "XDG_CACHE_HOME",
      mac ? join(homeDirectory, "Library", "Caches") : join(homeDirectory, ".cache"),
    ),
  };
}
