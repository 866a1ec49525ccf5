import { hash } from "node:crypto";
import { CODE_STYLE } from "./code-style.ts";
import { WORK_STYLE } from "./work-style.ts";

/** The style of texts, lists and forms. */
const BASE = `:root {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #e6e8eb);
  --quiet: light-dark(#575e66, #a4abb3);
  --back: light-dark(#ffffff, #14171a);
  --raised: light-dark(#f4f5f7, #1e2226);
  --line: light-dark(#d5d9de, #363c43);
  --link: light-dark(#0a56b5, #7db6ff);
  --good: light-dark(#136c33, #6fd48f);
  --bad: light-dark(#a8201a, #ff9d96);
}
:root[data-theme=light] { color-scheme: light; }
:root[data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, textarea:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; justify-content: space-between; align-items: center; padding: .75rem 1rem; background: var(--raised); border-bottom: 1px solid var(--line); }
header nav, .tabs { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; }
.home { font-weight: 700; color: var(--text); text-decoration: none; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 1.5rem 0 .5rem; }
.quiet { color: var(--quiet); }
.tabs { border-bottom: 1px solid var(--line); padding-bottom: .5rem; margin: .5rem 0 1rem; }
.tabs a { padding: .25rem .25rem; }
.tabs a[aria-current] { color: var(--text); font-weight: 600; }
.list { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .4rem; }
form.inline + .list { margin-top: .5rem; }
.list > li { padding: .6rem .8rem; border-top: 1px solid var(--line); }
.list > li:first-child { border-top: 0; }
.list p { margin: .2rem 0 0; }
.card { border: 1px solid var(--line); border-radius: .4rem; margin: 1rem 0; }
.card > .head { margin: 0; background: var(--raised); border-bottom: 1px solid var(--line); padding: .4rem .8rem; border-radius: .4rem .4rem 0 0; }
h3.head { font-size: 1rem; }
.card > .markup, .card > .plain, .card > .content { padding: .8rem; margin: 0; }
.event { color: var(--quiet); margin: .5rem .8rem; }
.label, .state { display: inline-flex; gap: .35rem; align-items: center; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; color: var(--text); }
.state.good { color: var(--good); border-color: currentColor; }
.state.bad { color: var(--bad); border-color: currentColor; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
.scroll { overflow-x: auto; }
pre, code { font: .85rem/1.5 ui-monospace, monospace; }
pre { background: var(--raised); padding: .8rem; overflow-x: auto; border-radius: .4rem; margin: .5rem 0; white-space: pre; }
.plain { white-space: pre-wrap; }
.picture { border-radius: .4rem; display: block; }
main img, .markup svg { max-width: 100%; }
.markup table { width: auto; margin: .5rem 0; }
.markup > :first-child, .event + .event { margin-top: 0; }
.markup > :last-child { margin-bottom: 0; }
.markup blockquote { margin: .8rem 0; padding-inline-start: .8rem; border-inline-start: .25rem solid var(--line); color: var(--quiet); }
.markup li:has(> input[type=checkbox]) { list-style: none; }
.markup li > input[type=checkbox] { margin: 0 .4rem 0 -1.3rem; }
.markup a { text-decoration: underline; }
pre code :is(.c1, .cm, .cs, .gp) { color: var(--quiet); }
pre code :is(.k, .kc, .kd, .kn, .kt, .cp, .nd) { color: light-dark(#8a1c7c, #e7a0dd); }
pre code :is(.s, .s1, .s2, .sb, .se, .sr, .ss, .gi) { color: var(--good); }
pre code :is(.nf, .nc, .nt, .nl, .gh) { color: var(--link); }
pre code :is(.mi, .na, .nb, .no, .nv) { color: light-dark(#7a4a00, #f0c27a); }
pre code .gd { color: var(--bad); }
pre code .ge { font-style: italic; }
pre code :is(.gs, .gh) { font-weight: 600; }
.code { display: flex; background: var(--raised); border-radius: 0 0 .4rem .4rem; }
.code pre { margin: 0; border-radius: 0; }
.code .lines { flex: none; padding-right: 0; text-align: right; user-select: none; overflow: visible; }
.code .lines a { color: var(--quiet); text-decoration: none; }
.code .lines a:target { color: var(--text); font-weight: 700; }
.code .markup { flex: 1; min-width: 0; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); width: max-content; }
form.stack { display: grid; gap: .8rem; max-width: 26rem; }
form.inline, form.row { max-width: 100%; display: inline-flex; gap: .5rem; flex-wrap: wrap; }
label { display: block; font-weight: 600; }
input, textarea, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--quiet); border-radius: .4rem; padding: .4rem .6rem; width: 100%; }
input[type=checkbox] { width: auto; }
textarea { min-height: 7rem; }
button { width: auto; background: var(--raised); cursor: pointer; min-height: 2rem; }
button.primary { background: var(--link); border-color: var(--link); color: var(--back); font-weight: 600; padding: .5rem 1rem; }
button:disabled { opacity: .6; cursor: default; }
button.link { border: 0; background: none; padding: 0; color: var(--link); text-decoration: underline; }
.row select { min-width: 0; flex: 1 1 10rem; }
.row input { width: auto; flex: 1; min-width: 10rem; }
.error { border: 1px solid var(--bad); color: var(--bad); border-radius: .4rem; padding: .6rem .8rem; }
.error:empty { display: none; }
.narrow { max-width: 28rem; margin: 8vh auto 0; }
.narrow h1 { font-size: 1.4rem; margin-bottom: 1rem; }
label.check { display: flex; gap: .5rem; align-items: center; font-weight: 400; }
label.check input { flex: none; }
.success { color: var(--good); font-weight: 600; }
[hidden] { display: none !important; }
.drop { border: 2px dashed var(--line); border-radius: .4rem; padding: 1.5rem 1rem; text-align: center; color: var(--quiet); }
.uploads:empty { display: none; }
.uploads [data-state=refused] span { color: var(--bad); }
progress { width: min(16rem, 100%); vertical-align: middle; }
dialog { color: inherit; background: var(--back); border: 1px solid var(--quiet); border-radius: .4rem; max-width: 90vw; }
kbd { border: 1px solid var(--line); border-radius: .3rem; padding: 0 .4rem; font: .85rem ui-monospace, monospace; }
.crumbs { margin: 0; }
.after { margin-top: .5rem; }
meter { width: min(20rem, 100%); }
.qr { background: #fff; }
.columns { margin-top: .75rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem 2rem; }
@media (min-width: 60rem) { .columns { grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); } }
.plain-list { list-style: none; margin: 0 0 .5rem; padding: 0; }
.plain-list form { margin-inline-start: .3rem; }
.picture { display: block; max-height: 80vh; background: var(--raised); }
.pdf { width: 100%; height: 80vh; border: 1px solid var(--line); border-radius: .4rem; }
.player { width: 100%; max-height: 80vh; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.notice { border: 1px solid var(--line); border-inline-start: .25rem solid var(--link); border-radius: .4rem; padding: .6rem .8rem; }
.title { display: flex; gap: 1rem; justify-content: space-between; align-items: center; flex-wrap: wrap; }
a.button { border: 1px solid var(--quiet); border-radius: .4rem; padding: .4rem 1rem; text-decoration: none; color: var(--text); background: var(--raised); }
a.button.primary { background: var(--link); border-color: var(--link); color: var(--back); font-weight: 600; }
button.danger { border-color: var(--bad); color: var(--bad); font-weight: 600; }
header a[aria-current], .chip[aria-current] { color: var(--text); font-weight: 600; }
select { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--quiet); border-radius: .4rem; padding: .4rem .6rem; max-width: 100%; }
label > select { display: block; width: 100%; }
.search { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0; }
.search input[type=search] { flex: 1 1 14rem; width: auto; min-width: 0; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: .5rem 0; }
.chip { border: 1px solid var(--line); border-radius: 1rem; padding: .15rem .7rem; text-decoration: none; font-size: .9rem; }
.chip[aria-current] { border-color: var(--text); background: var(--raised); }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .75rem 0 .25rem; }
.actions form.inline { align-items: center; }
.number { text-align: end; white-space: nowrap; }
.found { display: flex; flex-wrap: wrap; gap: .25rem .6rem; align-items: baseline; }
.passage { margin: .3rem 0 0; color: var(--quiet); }
mark { background: light-dark(#ffe58a, #6b5600); color: var(--text); border-radius: .15rem; }
[data-row] a[data-open] bdi { display: -webkit-inline-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.documents td { overflow-wrap: anywhere; }
.scroll time { white-space: nowrap; }
.scroll .long { display: block; min-width: 16rem; }
.documents td.wide:last-child { white-space: nowrap; }
.documents .label + .label { margin-inline-start: .25rem; }
.label { text-decoration: none; }
[data-row]:has(input:checked) { background: var(--raised); }
[data-row].at { outline: 2px solid var(--link); outline-offset: -2px; }
.tiles { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .75rem; }
.tiles > li { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem; min-width: 0; }
.thumbnail { position: relative; display: grid; place-items: center; place-content: center; gap: .25rem; width: 100%; height: 8rem; overflow: hidden; background: var(--raised); border-radius: .3rem; margin-bottom: .4rem; color: var(--quiet); font-size: .85rem; }
.thumbnail svg { width: 2.5rem; height: 2.5rem; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.thumbnail img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover; object-position: top; }
@media (max-width: 44rem) { .wide { display: none; } }
.pager { display: flex; gap: 1rem; margin: 1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; }
`;

/** The style sheet of all pages. Colours have a contrast of at least 4.5:1 in both schemes. */
export const STYLE = BASE + CODE_STYLE + WORK_STYLE;

/** The favicon: a roof over a field. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#136c33"/><path d="M5 17 16 7l11 10M9 15v10h14V15" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

/** The addresses contain the hash of the content, so that browsers may cache it. */
export const STYLE_PATH = toAssetPath(STYLE, "css");
export const ICON_PATH = toAssetPath(ICON, "svg");

function toAssetPath(content: string, extension: string): string {
  return `/assets/croft-${hash("sha256", content, "hex").slice(0, 12)}.${extension}`;
}
