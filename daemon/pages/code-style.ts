/** The part of the style sheet for code: diffs, blame, lists of files. */
export const CODE_STYLE = `
.file > summary, .file > summary h3 { max-width: 100%; }
.file > summary { width: auto; color: var(--text); overflow-wrap: anywhere; }
.file > summary h3 { display: inline; font: .9rem/1.5 ui-monospace, monospace; font-weight: 600; }
.file:not([open]) > summary { border-bottom: 0; border-radius: .4rem; }
.counts { white-space: nowrap; font-size: .9rem; }
.counts .add { color: var(--good); }
.counts .del { color: var(--bad); }
.diff-tools { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; align-items: baseline; }
.diff-tools p { margin: 0; }
.hunk { margin: 0; padding: .2rem .8rem; color: var(--quiet); background: var(--raised); font: .8rem/1.5 ui-monospace, monospace; }
.diff { display: flex; }
.diff pre { margin: 0; padding: 0; border-radius: 0; background: none; }
.diff .lines { flex: none; padding: 0 .4rem; min-width: 2.4rem; text-align: right; color: var(--quiet); user-select: none; overflow: visible; border-inline-end: 1px solid var(--line); }
.diff .text { flex: 1; min-width: 0; }
.diff .text > span { display: block; min-width: max-content; padding-inline: .4rem; }
.diff .add { background: light-dark(#e2f6e6, #12301c); }
.diff .del { background: light-dark(#ffe9e7, #3a1715); }
.diff .none { background: var(--raised); }
.diff .note { color: var(--quiet); }
.diff b { font-weight: inherit; border-radius: .15rem; }
.diff .add b { background: light-dark(#a9e6b6, #1f5c33); }
.diff .del b { background: light-dark(#ffc4bf, #70231e); }
.split { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.split > .diff + .diff { border-inline-start: 1px solid var(--line); }
`;
