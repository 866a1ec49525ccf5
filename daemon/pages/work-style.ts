/** The style of pages on which people work together: conversations, boxes beside them, menus, filters and progress. */
export const WORK_STYLE = `.list-search { margin: .75rem 0; display: flex; }
.list-search input { flex: 1 1 12rem; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 2rem; }
@media (min-width: 52rem) { .beside { grid-template-columns: minmax(0, 1fr) 16rem; } }
.beside aside { font-size: .95rem; }
.box { border-top: 1px solid var(--line); padding: .6rem 0; }
.box:first-child { border-top: 0; padding-top: 0; }
.box > .title { gap: .5rem; }
.box h2 { font-size: .9rem; margin: 0; color: var(--quiet); }
.box p { margin: .2rem 0 0; }
.box { position: relative; }
.box details { margin: .2rem 0 0; }
.box > details.change { margin: 0; }
.box > details.change > summary { position: absolute; inset-block-start: .6rem; inset-inline-end: 0; list-style: none; font-size: .85rem; }
.box:first-child > details.change > summary { inset-block-start: 0; }
.box > details.change > summary::-webkit-details-marker { display: none; }
.box form { margin-top: .4rem; }
.box .row input { min-width: 4rem; }
.choices { list-style: none; margin: 0 0 .4rem; padding: 0; max-height: 16rem; overflow-y: auto; }
.choices label { font-weight: 400; display: flex; gap: .5rem; align-items: center; padding: .15rem 0; }
input[type=radio], input[type=color] { width: auto; }
input[type=color] { padding: .1rem; height: 2.3rem; min-width: 3.5rem; }
.filters { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: center; justify-content: space-between; margin: .5rem 0; }
.filters > div { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center; }
.filters .tabs { border: 0; padding: 0; margin: 0; }
details.menu { position: relative; margin: 0; }
details.menu > summary { color: var(--text); list-style: none; }
details.menu > summary::after { content: " ▾"; color: var(--quiet); }
details.menu > summary::-webkit-details-marker { display: none; }
details.menu[open] > :not(summary) { position: absolute; z-index: 2; inset-inline-end: 0; margin: .3rem 0 0; background: var(--back); border: 1px solid var(--line); border-radius: .4rem; box-shadow: 0 .3rem 1rem rgb(0 0 0 / .2); padding: .4rem; width: max-content; min-width: 12rem; max-width: min(20rem, 90vw); max-height: 20rem; overflow-y: auto; }
.menu ul { list-style: none; }
.menu li a { display: block; padding: .2rem .5rem; text-decoration: none; color: var(--text); border-radius: .3rem; }
.menu li a:hover, .menu li a:focus-visible { background: var(--raised); }
.menu li a[aria-current]::before { content: "✓ "; }
@media (max-width: 44rem) { details.menu { position: static; } .filters { position: relative; } details.menu[open] > :not(summary) { inset-inline: 0; width: auto; max-width: none; } }
.list > li.at { outline: 2px solid var(--link); outline-offset: -2px; }
.list > li > .number { float: inline-end; }
.list .heading { font-weight: 600; }
label input, label textarea, label select { font-weight: 400; }
.tabs a, .list .heading, .place a { text-decoration: none; }
.tabs a:hover, .list .heading:hover, .place a:hover { text-decoration: underline; }
.tabs { padding-bottom: 0; }
.tabs a { padding: .35rem .25rem; border-bottom: 2px solid transparent; margin-bottom: -1px; }
.tabs a[aria-current] { border-bottom-color: var(--link); text-decoration: none; }
.filters .tabs a { margin: 0; }
.list .heading { color: var(--text); }
.list .label { margin-inline-end: .25rem; }
.toolbar { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; justify-content: space-between; margin: .75rem 0; }
.toolbar .list-search { flex: 1 1 16rem; margin: 0; max-width: 32rem; }
.toolbar .links { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
.toolbar .links a { white-space: nowrap; }
.list form.inline { align-items: end; }
.picker { color: var(--quiet); font-weight: 400; font-size: .9rem; }
.picker input { border: 0; padding: .2rem 0; background: none; }
form.wide { margin-top: .5rem; }
.card + form.wide, .event + form.wide { margin-top: 1.25rem; }
.card > .head { display: flex; flex-wrap: wrap; gap: .2rem .5rem; align-items: baseline; justify-content: space-between; }
.card > .head > :first-child { margin-inline-end: auto; }
.card > .head .edit-link { font-size: 1rem; font-weight: 400; }
.card > .list { border: 0; border-top: 1px solid var(--line); border-radius: 0; }
.card > .head form { display: inline; }
.card .foot { display: flex; flex-wrap: wrap; gap: .3rem .9rem; align-items: center; padding: 0 .8rem .8rem; }
.card .foot:empty { display: none; }
.card .foot details { margin: 0; }
.card .foot details[open] { flex-basis: 100%; }
.card .foot .reactions details[open] { flex-basis: auto; display: flex; gap: .3rem; flex-wrap: wrap; align-items: center; }
.card .foot summary { font-size: .9rem; list-style: none; color: var(--quiet); }
.card .foot summary:hover { color: var(--link); }
.card .foot summary::-webkit-details-marker { display: none; }
.card .foot form { display: inline; }
.card .foot form.reactions { display: flex; align-items: center; }
.box form.inline { display: inline; margin: 0; }
button.reaction { border-radius: 1rem; padding: 0 .6rem; min-height: 1.7rem; font-size: .85rem; }
button.reaction[aria-pressed=true] { border-color: var(--link); background: var(--raised); color: var(--link); }
.reactions { display: flex; flex-wrap: wrap; gap: .3rem; }
.tools { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; font-size: .9rem; }
.tools details { margin: 0; }
.edit { padding: .8rem; border-top: 1px solid var(--line); }
form.wide { display: grid; gap: .6rem; max-width: none; }
form.wide textarea { min-height: 9rem; }
form .buttons { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.attachments { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: .5rem; list-style: none; padding: 0; margin: 0; }
.attachments img { max-height: 8rem; max-width: 100%; display: block; border-radius: .3rem; }
.event { font-size: .95rem; }
.event b, .event bdi { color: var(--text); font-weight: 500; }
.copied { position: relative; }
button.copy { font-size: .8rem; padding: 0 .5rem; min-height: 1.6rem; }
.copied > button.copy { position: absolute; inset-block-start: .3rem; inset-inline-end: .3rem; opacity: .85; }
.empty + form { margin-top: .75rem; }
.progress { display: block; margin: .4rem 0; width: 100%; height: .5rem; border: 0; border-radius: .3rem; background: var(--line); overflow: hidden; appearance: none; }
.progress::-webkit-progress-bar { background: var(--line); }
.progress::-webkit-progress-value { background: var(--good); }
.progress::-moz-progress-bar { background: var(--good); }
.field { margin: 0; border: 0; padding: 0; min-width: 0; }
.field legend { font-weight: 600; padding: 0; }
.hint { font-weight: 400; color: var(--quiet); margin: .1rem 0 .3rem; font-size: .95rem; }
.needed::after { content: " *"; color: var(--bad); }
output:empty { display: none; }
.empty { border: 1px dashed var(--line); border-radius: .4rem; padding: 1.2rem; text-align: center; color: var(--quiet); }
.empty p { margin: .3rem 0; }
.count { color: var(--quiet); font-weight: 400; }
.unread { border-inline-start: .2rem solid var(--link); }
header nav a, header button.link { color: inherit; text-decoration: none; }
header nav a:hover, header button.link:hover { text-decoration: underline; }
`;
