/** The part of the style sheet for code: diffs, blame, lists of files. */
export const CODE_STYLE = `
.file > summary, .file > summary h3 { max-width: 100%; }
.file > summary.head { display: list-item; list-style-position: inside; }
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
.diff .lines a { color: inherit; text-decoration: none; }
.diff .lines a:hover, .diff .lines a:focus-visible { color: var(--link); text-decoration: underline; }
.talk { padding: .6rem .8rem; border-block: 1px solid var(--line); background: var(--raised); }
.talk form.wide, .conversation form.stack { max-width: 44rem; }
.conversation > summary { width: auto; padding: 0 .8rem; overflow-wrap: anywhere; }
.conversation .content { padding: .4rem .8rem; }
.conversation .content p { margin: .2rem 0; }
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
.code .lines a.marked { color: var(--text); font-weight: 700; }
.bar { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0; }
.bar > .crumbs { flex: 1 1 12rem; min-width: 0; }
.tools { display: flex; flex-wrap: wrap; gap: .4rem .9rem; align-items: center; margin: 0; }
.tools details { margin: 0; }
.tools input[type=search] { width: 11rem; }
.menu { margin: 0; position: relative; }
.menu > summary { border: 1px solid var(--line); border-radius: .4rem; padding: .25rem .7rem; color: var(--text); max-width: 80vw; overflow-wrap: anywhere; background: var(--raised); }
.menu-body { position: absolute; z-index: 2; inset-inline-start: 0; min-width: 16rem; max-width: 90vw; max-height: 60vh; overflow: auto; background: var(--back); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; margin-top: .3rem; }
.menu-body h2 { font-size: .9rem; margin: .6rem 0 .2rem; color: var(--quiet); }
.menu-body a[aria-current] { color: var(--text); font-weight: 600; }
.menu-body p { margin: .2rem 0; font-size: .9rem; }
.tools > details { position: relative; }
.tools > details > :not(summary) { background: var(--back); }
.latest, .file-tools { display: flex; flex-wrap: wrap; gap: .2rem 1rem; justify-content: space-between; padding: .5rem .8rem; background: var(--raised); border-bottom: 1px solid var(--line); }
.latest { border-radius: .4rem .4rem 0 0; }
.latest p { margin: 0; min-width: 0; flex: 1 1 14rem; }
.inline-list { display: flex; flex-wrap: wrap; gap: .2rem .9rem; list-style: none; margin: 0; padding: 0; }
table.files td { padding: .4rem .8rem; }
table.files tr:last-child td { border-bottom: 0; }
table.files .time { text-align: end; color: var(--quiet); white-space: nowrap; font-size: .9rem; }
table.files td:first-child { width: 40%; }
table.files td.wide { max-width: 20rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (max-width: 44rem) {
  table.files td:first-child { width: auto; }
}
.entry { display: flex; gap: .5rem; align-items: baseline; }
.entry > :last-child { min-width: 0; }
.plain-link { color: var(--quiet); text-decoration: none; }
.plain-link:hover, .plain-link:focus-visible { text-decoration: underline; }
.icon { flex: none; display: inline-block; width: .8rem; height: .65rem; border: 1px solid var(--quiet); border-radius: .1rem; }
.icon.file { width: .6rem; height: .8rem; margin-inline: .1rem; align-self: center; }
.icon.dir { background: var(--quiet); }
.icon.symlink { border-style: dashed; }
.languages { margin: .5rem 0; font-size: .9rem; }
.languages > svg { display: block; border-radius: .3rem; margin-bottom: .3rem; }
.languages li svg { vertical-align: baseline; }
.part-0 { fill: light-dark(#2b6cb0, #7db6ff); }
.part-1 { fill: light-dark(#a8641a, #f0c27a); }
.part-2 { fill: light-dark(#2f7d4f, #6fd48f); }
.part-3 { fill: light-dark(#8a1c7c, #e7a0dd); }
.part-4 { fill: light-dark(#a8201a, #ff9d96); }
.part-5 { fill: light-dark(#0f7c80, #6ed0d3); }
.part-6 { fill: light-dark(#7a828b, #8b929a); }
.commit { display: flex; flex-wrap: wrap; gap: .2rem 1rem; justify-content: space-between; align-items: center; }
.commit > div:first-child { min-width: 0; flex: 1 1 14rem; }
.commit > p { margin: 0; }
.commit .tools { font-size: .9rem; }
.commit meter { width: 8rem; }
form.wide-form { max-width: none; }
fieldset { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; margin: 0; display: grid; gap: .6rem; min-width: 0; }
input[type=radio] { width: auto; }
textarea.editor { font: .85rem/1.5 ui-monospace, monospace; min-height: 24rem; white-space: pre; overflow: auto; tab-size: 4; }
textarea.short { min-height: 4rem; }
ol.list { list-style: none; }
table.blame { width: max-content; min-width: 100%; }
table.blame td { padding: .1rem .6rem; border-bottom: 1px solid var(--line); }
table.blame tr:last-child td { border-bottom: 0; }
table.blame pre { margin: 0; padding: 0; background: none; overflow: visible; min-height: 1.5em; }
table.blame .who { width: 19rem; max-width: 19rem; min-width: 14rem; font-size: .85rem; white-space: normal; overflow-wrap: anywhere; }
table.blame .lines { color: var(--quiet); text-align: end; user-select: none; }
.matches { list-style: none; margin: 0; padding: .4rem 0; overflow-x: auto; }
.matches li { display: flex; gap: .8rem; padding: .1rem .8rem; white-space: pre; }
.matches a { flex: none; min-width: 2.5rem; text-align: end; color: var(--quiet); font: .85rem/1.5 ui-monospace, monospace; }
.card > .picture, .card > .player { margin: .8rem auto; }
label > :is(input, textarea, select) { font-weight: 400; }
@media (max-width: 44rem) { table.blame .who { width: 9rem; min-width: 9rem; } }
`;
