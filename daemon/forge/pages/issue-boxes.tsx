import type { ReactNode } from "react";
import { Menu } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import type { IssueBoxes, IssueWork } from "./issue-work.ts";

/** A fact with the form that changes it, which opens below its name. */
export function Box({
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
      <h2>{title}</h2>
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
export function BoxForm({
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

/** The text in the place of a value. */
export const None = ({ text }: { text: string }) => <p className="quiet">{text}</p>;

/** `1 h 5 min` */
function toDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return seconds === 0 ? "None" : "less than a minute";
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours === 0 ? "" : `${hours} h`, rest === 0 ? "" : `${rest} min`]
    .filter((part) => part !== "")
    .join(" ");
}

/** The tracked time with the stopwatch. */
export function TimeBox({ work, boxes: { time } }: { work: IssueWork; boxes: IssueBoxes }) {
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

export function SubscriptionBox({
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

/** What administrators of the repository may do. */
export function AdministrationBox({ work }: { work: IssueWork }) {
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
