import type { ReactNode } from "react";
import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import { Menu, State } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toPath } from "../../pages/page.ts";
import { Label, UserLink } from "./elements.tsx";
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

/** A fact with the form that changes it, which opens below its name. */
function Box({
  title,
  children,
  edit,
  editText = "Change",
}: {
  title: string;
  children: ReactNode;
  edit?: ReactNode;
  editText?: string;
}) {
  return (
    <section className="box" aria-label={title}>
      <h3>{title}</h3>
      {children}
      {edit === undefined ? null : (
        <Menu name={editText} className="change">
          {edit}
        </Menu>
      )}
    </section>
  );
}

/** A form of a box. */
function BoxForm({
  work,
  path,
  className,
  children,
}: {
  work: IssueWork;
  path: string;
  className?: string;
  children: ReactNode;
}) {
  const { actions, query, token } = work;
  return (
    <Form
      action={`${actions}${path}${query}`}
      token={token}
      {...(className === undefined ? {} : { className })}
    >
      {children}
    </Form>
  );
}

const None = ({ text }: { text: string }) => <p className="quiet">{text}</p>;

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

/** `1 h 5 min` */
function toDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return seconds === 0 ? "None" : "less than a minute";
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours === 0 ? "" : `${hours} h`, rest === 0 ? "" : `${rest} min`]
    .filter((part) => part !== "")
    .join(" ");
}

function TimeBox({ work, boxes: { time } }: { work: IssueWork; boxes: IssueBoxes }) {
  const { mayWrite } = work;
  if (time === undefined || (!mayWrite && time.seconds === 0)) return null;
  return (
    <Box
      title="Tracked time"
      editText="Add time"
      edit={
        mayWrite ? (
          <BoxForm work={work} path="/times" className="row">
            <input
              type="number"
              name="minutes"
              min={1}
              max={100_000}
              required
              aria-label="Minutes"
              placeholder="Minutes"
            />
            <button type="submit">Add time</button>
          </BoxForm>
        ) : undefined
      }
    >
      <p className={time.seconds === 0 ? "quiet" : undefined}>{toDuration(time.seconds)}</p>
      {mayWrite ? (
        <BoxForm work={work} path="/stopwatch">
          <button type="submit" name="do" value={time.isRunning ? "stop" : "start"}>
            {time.isRunning ? "Stop the stopwatch" : "Start the stopwatch"}
          </button>
        </BoxForm>
      ) : null}
    </Box>
  );
}

function SubscriptionBox({
  work,
  boxes: { isSubscribed },
}: {
  work: IssueWork;
  boxes: IssueBoxes;
}) {
  if (isSubscribed === undefined) return null;
  return (
    <Box title="Notifications">
      <BoxForm work={work} path="/subscription">
        <button type="submit" name="subscribed" value={isSubscribed ? "no" : "yes"}>
          {isSubscribed ? "Unsubscribe" : "Subscribe"}
        </button>
      </BoxForm>
    </Box>
  );
}

/** The reasons of Gitea's pages. */
const lockReasons = ["Too heated", "Off-topic", "Resolved", "Spam"];

function AdministrationBox({ work }: { work: IssueWork }) {
  const { issue, mayAdminister } = work;
  if (!mayAdminister) return null;
  const isPinned = issue.pin_order > 0;
  return (
    <Box title="Administration">
      <div className="tools">
        <BoxForm work={work} path="/pin">
          <button type="submit" name="pinned" value={isPinned ? "no" : "yes"}>
            {isPinned ? "Unpin" : "Pin"}
          </button>
        </BoxForm>
        {issue.is_locked ? (
          <BoxForm work={work} path="/lock">
            <button type="submit" name="locked" value="no">
              Unlock
            </button>
          </BoxForm>
        ) : null}
      </div>
      {issue.is_locked ? null : (
        <Menu name="Lock the conversation">
          <BoxForm work={work} path="/lock" className="row">
            <select name="reason" aria-label="Reason">
              <option value="">No reason</option>
              {lockReasons.map((reason) => (
                <option key={reason}>{reason}</option>
              ))}
            </select>
            <button type="submit" name="locked" value="yes">
              Lock
            </button>
          </BoxForm>
        </Menu>
      )}
      {issue.pull_request === null ? (
        <Menu name="Delete the issue">
          <BoxForm work={work} path="/delete">
            <button type="submit" className="danger">
              Delete it with its comments for good
            </button>
          </BoxForm>
        </Menu>
      ) : null}
    </Box>
  );
}
