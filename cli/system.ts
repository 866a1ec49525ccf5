import type http from "node:http";
import type https from "node:https";
import type { Readable, Writable } from "node:stream";

/** A stream that may be a terminal to read from. */
type InputStream = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
};

/** A stream that may be a terminal to write to. */
export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

export type StopSignal = "SIGINT" | "SIGTERM";

/** The functions of the keyring library. */
export interface KeyringLibrary {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

/** Receives an error that no code handled. */
export type UnhandledListener = (error: unknown, origin: "rejection" | "collected_file") => void;

/** The process as the command line uses it. Nothing else below `main.ts` uses `process`. */
export interface System {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  readonly homeDirectory: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  /** The program and the arguments that run this croft, without a command. */
  readonly program: readonly [string, ...string[]];
  /** The user id of the process; undefined on systems without numeric ids. */
  readonly userId: number | undefined;
  /** `v26.10.0`. */
  readonly nodeVersion: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /**
   * Node's HTTP. Not imported: the ES module face of `node:http` loads a second HTTP client for its `WebSocket`,
   * which takes longer than everything else that a command does.
   */
  readonly http: () => typeof http;
  readonly https: () => typeof https;
  /** The operating system's keyring. Loads native code, which throws on systems without a keyring. */
  readonly keyring: () => Promise<KeyringLibrary>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Milliseconds since the process started. */
  readonly elapsed: () => number;
  /** Returns `length` random bytes. */
  readonly random: (length: number) => Uint8Array;
  /** Waits; rejects with the signal's reason when it is aborted. */
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly isProcessAlive: (pid: number) => boolean;
  /** Distinguishes a process from a later one with the same id; undefined on systems without start times. */
  readonly processMark: (pid: number) => string | undefined;
  /** Sends a process the signal to stop; returns false when it does not exist. */
  readonly stopProcess: (pid: number) => boolean;
  /** Shows an address in the person's browser; false when this system has no place for one. */
  readonly openBrowser: (address: string) => boolean;
  /**
   * Shows a text in a pager, a line of the shell, and waits until the person leaves it. False when it does not start.
   * The pager gets the terminal unchanged.
   */
  readonly page: (pager: string, text: string) => Promise<boolean>;
  /** Opens a file with the program that the system has for it; false when this system has no desktop. */
  readonly openFile: (path: string) => boolean;
  /**
   * Resolves when the reader of standard output closes its pipe, where this can be known without a write: with GNU tail.
   * Elsewhere, and after `signal`, it never does.
   */
  readonly outputClosed: (signal: AbortSignal) => Promise<void>;
  /** Calls `listener` for each stop signal until the returned function is called. */
  readonly onStop: (listener: (signal: StopSignal) => void) => () => void;
  /**
   * Calls `listener` instead of ending the process, until the returned function is called, for a rejection that no code
   * handles and for a file handle that was garbage collected while it was open. Other errors that no code catches still end
   * the process.
   */
  readonly onUnhandled: (listener: UnhandledListener) => () => void;
  /**
   * Stops the process and its process group as Ctrl-Z does, and returns when the shell continues them. Has no effect
   * without a shell that controls jobs.
   */
  readonly suspend: () => void;
  /** Ends the process at once: for a second stop signal, and when a native call does not return. */
  readonly exitNow: (code: number) => void;
}
