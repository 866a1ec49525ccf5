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
  hasProgram(name: string): Promise<boolean>;
  /** Runs a program to its end and returns its exit code. Its background processes run until the job ends. */
  run(command: PlaceCommand): Promise<number>;
  /** Moves the contents of a folder of the runner to a folder of the workspace, whose files it replaces. */
  install(folder: string, target: string): Promise<void>;
  /** Removes the place with its files and processes. */
  end(): Promise<void>;
}

/** The host's folders of one job. */
export interface JobFolders {
  /** The folder of the job: everything below it is removed with the job. */
  readonly root: string;
  /** The repository. */
  readonly workspace: string;
  /** Files for the steps: scripts, command files, the event. */
  readonly temp: string;
  /** Actions that were fetched. */
  readonly actions: string;
}

/** A place that cannot be made. The message is shown in the job's log. */
export class PlaceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PlaceError";
  }
}
