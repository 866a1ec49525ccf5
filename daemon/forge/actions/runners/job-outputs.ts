/** Outputs of a job by name. */
type Outputs = Readonly<Record<string, string>>;

const OUTPUT_NAME_CHARACTERS_MAX = 255;
const OUTPUT_CHARACTERS_MAX = 1024 * 1024;
/** Outputs of one job: those of all needed jobs are part of one message to a runner. */
const OUTPUTS_MAX = 1_000;
const OUTPUTS_CHARACTERS_MAX = 4 * OUTPUT_CHARACTERS_MAX;

/** Adds outputs; the first value of a name stays. Those that are too long or too many are left out. */
export function mergeOutputs(stored: Outputs, reported: Outputs): Record<string, string> {
  const merged: Record<string, string> = { ...stored };
  let count = Object.keys(stored).length;
  let characters = 0;
  for (const [name, value] of Object.entries(stored)) characters += name.length + value.length;
  for (const [name, value] of Object.entries(reported)) {
    if (Object.hasOwn(merged, name) || name.length > OUTPUT_NAME_CHARACTERS_MAX) continue;
    if (value.length > OUTPUT_CHARACTERS_MAX || count >= OUTPUTS_MAX) continue;
    if (characters + name.length + value.length > OUTPUTS_CHARACTERS_MAX) continue;
    merged[name] = value;
    count += 1;
    characters += name.length + value.length;
  }
  return merged;
}
