import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import { State } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { Label, UserLink } from "./elements.tsx";
import { AdministrationBox, Box, BoxForm, None, SubscriptionBox, TimeBox } from "./issue-boxes.tsx";
import { toReference } from "./issue-event.tsx";
import { toIssuePath, toIssueState } from "./issue-list.tsx";
import type { IssueBoxes, IssueWork } from "./issue-work.ts";

/** The boxes beside an issue or a pull request: each shows a fact, and opens to change it. */
export function IssueSidebar({ work, boxes }: { work: IssueWork; boxes: IssueBoxes }) {
  return (
    <aside aria-label="Properties">
      <LabelBox work={work} boxes={boxes} />
      <AssigneeBox work={work} />
      <MilestoneBox work={work} boxes={boxes} />
      <DueBox work={work} />
      {boxes.dependencies === undefined ? null : (
        <>
          <DependencyBox
            work={work}
            title="Depends on"
            name="blocker"
            issues={boxes.dependencies.blockers}
          />
          <DependencyBox
            work={work}
            title="Blocks"
            name="blocked"
            issues={boxes.dependencies.blocked}
          />
        </>
      )}
      <TimeBox work={work} boxes={boxes} />
      <SubscriptionBox work={work} boxes={boxes} />
      <AdministrationBox work={work} />
    </aside>
  );
}

function LabelBox({ work, boxes: { labels } }: { work: IssueWork; boxes: IssueBoxes }) {
  const { issue, mayWrite, repository } = work;
  const list = toPath(repository.owner.login, repository.name, "labels");
  const chosen = new Set(issue.labels.map(({ id }) => id));
  const offered = [...issue.labels, ...labels.filter(({ id }) => !chosen.has(id))];
  return (
    <Box
      title="Labels"
      edit={
        mayWrite ? (
          offered.length === 0 ? (
            <p>
              This repository has no labels. <a href={list}>Create some</a>
            </p>
          ) : (
            <BoxForm work={work} path="/labels">
              <input type="hidden" name="had" value={[...chosen].join(",")} />
              <ul className="choices">
                {offered.map((label) => (
                  <li key={label.id}>
                    <label>
                      <input
                        type="checkbox"
                        name="label"
                        value={label.id}
                        defaultChecked={chosen.has(label.id)}
                      />
                      <Label label={label} />
                    </label>
                  </li>
                ))}
              </ul>
              <button type="submit">Set labels</button>
            </BoxForm>
          )
        ) : undefined
      }
    >
      {issue.labels.length === 0 ? (
        <None text="None" />
      ) : (
        <p className="chips">
          {issue.labels.map((label) => (
            <Label key={label.id} label={label} />
          ))}
        </p>
      )}
    </Box>
  );
}

function AssigneeBox({ work }: { work: IssueWork }) {
  const { issue, mayWrite, writers, me } = work;
  const assignees = issue.assignees ?? [];
  const names = assignees.map(({ login }) => login);
  const others = writers.map(({ login }) => login).filter((name) => !names.includes(name));
  return (
    <Box
      title="Assignees"
      edit={
        mayWrite ? (
          <BoxForm work={work} path="/assignees">
            <input type="hidden" name="had" value={names.join(",")} />
            <ul className="choices">
              {[...names, ...others].map((name) => (
                <li key={name}>
                  <label>
                    <input
                      type="checkbox"
                      name="assignee"
                      value={name}
                      defaultChecked={names.includes(name)}
                    />
                    {name === me ? `${name} (you)` : name}
                  </label>
                </li>
              ))}
            </ul>
            <label>
              Somebody else
              <input name="other" maxLength={255} autoCapitalize="none" />
            </label>
            <button type="submit">Set assignees</button>
          </BoxForm>
        ) : undefined
      }
    >
      {assignees.length === 0 ? (
        <None text="Nobody" />
      ) : (
        assignees.map((user) => (
          <p key={user.id}>
            <UserLink user={user} />
          </p>
        ))
      )}
    </Box>
  );
}

function MilestoneBox({ work, boxes: { milestones } }: { work: IssueWork; boxes: IssueBoxes }) {
  const { issue, mayWrite, repository } = work;
  const current = issue.milestone;
  const home = toPath(repository.owner.login, repository.name);
  const offered =
    current === null || milestones.some(({ id }) => id === current.id)
      ? milestones
      : [current, ...milestones];
  return (
    <Box
      title="Milestone"
      edit={
        mayWrite ? (
          offered.length === 0 ? (
            <p>
              No open milestone. <a href={`${home}/milestones/new`}>Create one</a>
            </p>
          ) : (
            <BoxForm work={work} path="/milestone" className="row">
              <select
                name="milestone"
                aria-label="Milestone"
                defaultValue={String(current?.id ?? 0)}
              >
                <option value="0">None</option>
                {offered.map(({ id, title }) => (
                  <option key={id} value={id}>
                    {title}
                  </option>
                ))}
              </select>
              <button type="submit">Set milestone</button>
            </BoxForm>
          )
        ) : undefined
      }
    >
      {current === null ? (
        <None text="None" />
      ) : (
        <p>
          <a href={`${home}/milestone/${current.id}`}>
            <bdi>{current.title}</bdi>
          </a>
        </p>
      )}
    </Box>
  );
}

function DueBox({ work }: { work: IssueWork }) {
  const date = work.issue.due_date?.slice(0, 10);
  return (
    <Box
      title="Due date"
      edit={
        work.mayWrite ? (
          <BoxForm work={work} path="/deadline" className="row">
            <input type="date" name="date" aria-label="Due date" defaultValue={date} />
            <button type="submit">Set due date</button>
          </BoxForm>
        ) : undefined
      }
    >
      {date === undefined ? <None text="None" /> : <p>{date}</p>}
    </Box>
  );
}

function DependencyBox({
  work,
  title,
  name,
  issues,
}: {
  work: IssueWork;
  title: string;
  /** The field of the form: which of the two issues is named. */
  name: "blocker" | "blocked";
  issues: readonly WireIssue[];
}) {
  const { mayWrite, repository } = work;
  if (issues.length === 0 && !mayWrite) return null;
  const home = repository.full_name;
  return (
    <Box
      title={title}
      editText="Add"
      edit={
        mayWrite ? (
          <BoxForm work={work} path="/dependencies" className="row">
            <input
              name={name}
              required
              maxLength={300}
              placeholder="#7 or owner/name#7"
              aria-label={`${title}: issue`}
            />
            <button type="submit">Add</button>
          </BoxForm>
        ) : undefined
      }
    >
      {issues.length === 0 ? <None text="Nothing" /> : null}
      <ul className="plain-list">
        {issues.map((issue) => (
          <li key={issue.id}>
            <State word={toIssueState(issue)} />{" "}
            <a href={toIssuePath(issue)}>
              <bdi>{issue.title}</bdi>
            </a>{" "}
            <span className="quiet">{toReference(issue, home)}</span>
            {mayWrite ? (
              <BoxForm work={work} path="/dependencies" className="inline">
                <input type="hidden" name={name} value={toReference(issue, "")} />
                <button
                  type="submit"
                  className="link"
                  name="remove"
                  value="yes"
                  aria-label={`Remove the dependency on ${issue.title}`}
                >
                  Remove
                </button>
              </BoxForm>
            ) : null}
          </li>
        ))}
      </ul>
    </Box>
  );
}
