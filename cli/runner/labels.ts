/** Where jobs with a label run. */
export type LabelTarget =
  | { readonly kind: "host" }
  | { readonly kind: "container"; readonly image: string };

/** A label of the runner, as `NAME`, `NAME:host` or `NAME:docker://IMAGE`. */
export interface RunnerLabel {
  readonly name: string;
  readonly target: LabelTarget;
}

/** Parses a label; undefined when it is invalid. */
export function parseLabel(text: string): RunnerLabel | undefined {
  const [, name = "", rest] = /^([^:\s]+)(?::(.*))?$/s.exec(text.trim()) ?? [];
  if (name === "") return undefined;
  if (rest === undefined || rest === "host") return { name, target: { kind: "host" } };
  const [, image] = /^docker:\/\/(\S+)$/.exec(rest) ?? [];
  return image === undefined ? undefined : { name, target: { kind: "container", image } };
}

/** Returns where a job with these labels runs, by the first of its labels that the runner has. */
export function findTarget(
  labels: readonly RunnerLabel[],
  requested: readonly string[],
): LabelTarget | undefined {
  for (const name of requested) {
    const found = labels.find((label) => label.name === name);
    if (found !== undefined) return found.target;
  }
  return undefined;
}
