/** Receives the output of a process. */
export interface OutputSink {
  /** Maximum number of characters of a line. */
  readonly lineCharacters: () => number;
  readonly line: (line: string, dropped: number) => void;
  /** Whether the process must wait with its output, and until when. */
  readonly isFull: () => boolean;
  readonly drained: () => Promise<void>;
}

/** A program that a step starts. Paths are those that the step sees. */
export interface PlaceCommand {
  readonly argv: readonly string[];
  /** All variables in addition to those of the place itself. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders in front of the search path. */
  readonly path: readonly string[];
  readonly cwd: string;
  readonly sink: OutputSink;
  /** Ends the program and the processes of its process group. */
  readonly signal: AbortSignal;
}

/** Where the steps of one job run: this machine, or a container. */
export interface Place {
  /** The folder of the repository, and the folder for files of the job, as steps see them. */
  readonly workspace: string;
  readonly temp: string;
  /** Fields of the `job` context that describe the place. */
  readonly description: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The program that runs JavaScript actions. */
  readonly node: readonly string[];
  /** Returns the path by which steps find a file of the job's folders. */
  toStepPath(path: string): string;
  hasProgram(name: string, signal: AbortSignal): Promise<boolean>;
  /** Runs a program to its end and returns its exit code. Its background processes run until the job ends. */
  run(command: PlaceCommand): Promise<number>;
  /** Moves the contents of a folder of the runner to a folder of the workspace. */
  install(checkout: Installation): Promise<void>;
  /**
   * Lets steps use the folder of a fetched action, and returns its path for them. What they change in a container is not
   * seen by the runner.
   */
  offerAction(folder: string, signal: AbortSignal): Promise<string>;
}

/** A checkout of a repository that goes into the workspace. */
export interface Installation {
  /** A folder of the runner, whose contents are moved. */
  readonly folder: string;
  /** The folder in the workspace, as the workflow names it. */
  readonly target: string;
  /**
   * Files of an earlier checkout that go; the others in the target stay. Without it the target is emptied.
   */
  readonly stale: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** The host's folders of one job. A container gets those of which it says so, and nothing else. */
export interface JobFolders {
  /** The folder of the job: everything below it is removed with the job. */
  readonly root: string;
  /** The repository; in a container too. */
  readonly workspace: string;
  /** Files of the steps; in a container too. */
  readonly temp: string;
  /** The files by which steps return values, without folders; in a container too. */
  readonly files: string;
  /** Scripts and the event, which the runner writes and a container can only read. */
  readonly scripts: string;
  /** Actions that were fetched; a container gets a copy. */
  readonly actions: string;
  /** Checkouts before they go into the workspace. */
  readonly checkouts: string;
}

/** A place that cannot be made. The message is shown in the job's log. */
export class PlaceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PlaceError";
  }
}
