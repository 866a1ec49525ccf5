/** A job and the keys of the jobs that must end before it. */
interface NeedingJob {
  readonly key: string;
  readonly needs: readonly string[];
}

/** Returns keys of jobs that need each other in a circle, the first repeated at the end; undefined without a circle. */
export function findCycle(jobs: readonly NeedingJob[]): readonly string[] | undefined {
  const open = new Map(jobs.map(({ key, needs }) => [key, needs]));
  // Jobs without open needs are taken away until none is left; what stays is a circle or needs one.
  for (let before = -1; before !== open.size;) {
    before = open.size;
    for (const [key, needs] of open) if (!needs.some((need) => open.has(need))) open.delete(key);
  }
  const [start] = open.keys();
  if (start === undefined) return undefined;
  const path: string[] = [];
  for (let key: string | undefined = start; key !== undefined;) {
    const seen: number = path.indexOf(key);
    if (seen !== -1) return [...path.slice(seen), key];
    path.push(key);
    key = open.get(key)?.find((need) => open.has(need));
  }
  return undefined;
}
