/** A workflow file, how some of its jobs end, and how all of them end. */
export interface RunCase {
  readonly title: string;
  /** The jobs, one a line as `key: condition <- needs`; both parts after the key may be missing. */
  readonly jobs: string;
  /** Results of jobs that run; others succeed. */
  readonly results?: Readonly<Record<string, "failure" | "cancelled">>;
  /** Outputs of jobs that run. */
  readonly outputs?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly ends: Readonly<Record<string, string>>;
}

const fails = { a: "failure" } as const;

export const runCorpus: readonly RunCase[] = [
  {
    title: "jobs that need each other in a row",
    jobs: "a\nb <- a\nc <- b",
    ends: { a: "success", b: "success", c: "success" },
  },
  {
    title: "a failure, which skips what needs it and what needs that",
    jobs: "a\nb <- a\nc <- b\nd",
    results: fails,
    ends: { a: "failure", b: "skipped", c: "skipped", d: "success" },
  },
  {
    title: "always() after a failure",
    jobs: "a\nb: always() <- a",
    results: fails,
    ends: { a: "failure", b: "success" },
  },
  {
    title: "a job behind one with always(): an earlier failure still counts",
    jobs: "a\nb: always() <- a\nc <- b",
    results: fails,
    ends: { a: "failure", b: "success", c: "skipped" },
  },
  {
    title: "failure() over several levels",
    jobs: "a\nb <- a\nc: failure() <- b",
    results: fails,
    ends: { a: "failure", b: "skipped", c: "success" },
  },
  {
    title: "failure() without a failure",
    jobs: "a\nb: failure() <- a",
    ends: { a: "success", b: "skipped" },
  },
  {
    title: "failure() of a job that is not needed",
    jobs: "a\nb\nc: failure() <- b",
    results: fails,
    ends: { a: "failure", b: "success", c: "skipped" },
  },
  {
    title: "a condition that does not hold skips what needs the job",
    jobs: "a: github.ref_name == 'dev'\nb <- a",
    ends: { a: "skipped", b: "skipped" },
  },
  {
    title: "a skipped job and always()",
    jobs: "a: false\nb: always() <- a",
    ends: { a: "skipped", b: "success" },
  },
  {
    title: "a skipped job is not a failure",
    jobs: 'a: false\nb: "!failure()" <- a\nc: failure() <- a',
    ends: { a: "skipped", b: "success", c: "skipped" },
  },
  {
    title: "a cancelled job",
    jobs: "a\nb <- a\nc: cancelled() <- a\nd: failure() <- a",
    results: { a: "cancelled" },
    ends: { a: "cancelled", b: "skipped", c: "success", d: "skipped" },
  },
  {
    title: "not cancelled, after a failure and after a cancellation",
    jobs: 'a\nb\nc: "!cancelled()" <- a\nd: "!cancelled()" <- b',
    results: { a: "failure", b: "cancelled" },
    ends: { a: "failure", b: "cancelled", c: "success", d: "skipped" },
  },
  {
    title: "the results of needed jobs",
    jobs: "a\nb\nc: always() && needs.a.result == 'failure' && needs.b.result == 'success' <- a, b",
    results: fails,
    ends: { a: "failure", b: "success", c: "success" },
  },
  {
    title: "a result is only looked at where a status function is called",
    jobs: "a\nb: needs.a.result == 'failure' <- a",
    results: fails,
    ends: { a: "failure", b: "skipped" },
  },
  {
    title: "any of all needs",
    jobs: "a\nb\nc: always() && contains(needs.*.result, 'failure') <- a, b\nd: contains(needs.*.result, 'failure') <- b",
    results: fails,
    ends: { a: "failure", b: "success", c: "success", d: "skipped" },
  },
  {
    title: "an output of a needed job",
    jobs: "a\nb: needs.a.outputs.deploy == 'true' <- a\nc: needs.a.outputs.other == 'true' <- a",
    outputs: { a: { deploy: "true" } },
    ends: { a: "success", b: "success", c: "skipped" },
  },
  {
    title: "a list of an output",
    jobs: `a\nb: contains(fromJSON(needs.a.outputs.parts), 'web') <- a`,
    outputs: { a: { parts: '["api","web"]' } },
    ends: { a: "success", b: "success" },
  },
  {
    title: "the context of a job that is not needed directly",
    jobs: "a\nb <- a\nc: needs.a.result == 'success' <- b\nd: needs.a.result == '' <- b",
    ends: { a: "success", b: "success", c: "skipped", d: "success" },
  },
  {
    title: "branches, events and messages",
    jobs: "a: github.ref == 'refs/heads/main'\nb: startsWith(github.ref, 'refs/tags/')\nc: contains(github.event.head_commit.message, 'Deploy')\nd: github.event_name == 'push' && github.actor != 'bot'",
    ends: { a: "success", b: "skipped", c: "success", d: "success" },
  },
  {
    title: "variables and inputs",
    jobs: "a: vars.DEPLOY == 'yes'\nb: vars.MISSING == 'yes'\nc: inputs.level > 2\nd: inputs.verbose",
    ends: { a: "success", b: "skipped", c: "success", d: "skipped" },
  },
  {
    title: "an expression with and without its signs",
    jobs: 'a: "${{ github.ref_name == \'main\' }}"\nb: "${{ github.ref_name }} == \'dev\'"\nc: "${{ false }}"\nd: "${{ \'false\' }}"',
    // Text around an expression makes a text, which is true unless it is empty.
    ends: { a: "success", b: "success", c: "skipped", d: "success" },
  },
  {
    title: "conditions of other types",
    jobs: "a: true\nb: 0\nc: 1\nd: null\ne: ''",
    ends: { a: "success", b: "skipped", c: "success", d: "success", e: "success" },
  },
  {
    title: "a diamond of which one side fails",
    jobs: "a\nb <- a\nc <- a\nd <- b, c\ne: always() <- d",
    results: { c: "failure" },
    ends: { a: "success", b: "success", c: "failure", d: "skipped", e: "success" },
  },
  {
    title: "success() spelled out, and other cases of names",
    jobs: "a\nb: SUCCESS() && GITHUB.Ref_Name == 'MAIN' <- a\nc: Always() <- a",
    results: fails,
    ends: { a: "failure", b: "skipped", c: "success" },
  },
];
