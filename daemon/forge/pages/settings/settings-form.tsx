import type { ReactNode } from "react";
import { EmptyState, Menu, Pager } from "../../../pages/elements.tsx";
import { Form } from "../../../pages/form.tsx";
import { toPageNumber } from "../../../pages/page.ts";
import { LIMIT, type Request, type View } from "./settings-page.tsx";

/** A field of a form. */
export interface SettingsField {
  readonly label: string;
  /** `check` is a box, `checks` several with one name; `text` when absent. */
  readonly type?:
    | "text"
    | "email"
    | "password"
    | "number"
    | "multiline"
    | "check"
    | "checks"
    | "select";
  /** The choices of `select` and `checks`: values, or values with their texts. */
  readonly options?: readonly (string | readonly [value: string, text: string])[];
  readonly isOptional?: boolean;
  readonly max?: number;
}

type Fields = Readonly<Record<string, SettingsField>>;

interface ActionProps {
  view: View;
  /** The name of the action of the page. */
  action: string;
  submit: string;
  fields?: Fields;
  /** What the fields have at first. Values of other names are ignored. */
  values?: Readonly<Record<string, unknown>>;
  /** Fields that the person does not see, such as the id of an entry. */
  hidden?: Readonly<Record<string, string>>;
  tone?: "primary" | "danger";
  /** Above the form. */
  heading?: string;
  /** For a button beside others. */
  isInline?: boolean;
  children?: ReactNode;
}

/** A form that runs an action of its page, if the page offers it. After a refusal it has the values that were sent. */
export function ActionForm({ heading, ...props }: ActionProps) {
  if (!props.view.offers(props.action)) return null;
  if (heading === undefined) return <OfferedForm {...props} />;
  return (
    <>
      <h3>{heading}</h3>
      <OfferedForm {...props} />
    </>
  );
}

function OfferedForm(props: ActionProps) {
  const { view, action, submit, fields = {}, values = {}, hidden = {}, tone, isInline } = props;
  const sent = findSent(props);
  const shown = (name: string): unknown => {
    if (sent === undefined) return values[name];
    return fields[name]?.type === "checks" ? sent.getAll(name) : (sent.get(name) ?? "");
  };
  return (
    <Form
      action={view.home}
      token={view.session.formToken}
      className={isInline === true ? "inline" : "stack"}
    >
      <input type="hidden" name="action" value={action} />
      {Object.entries(hidden).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {Object.entries(fields).map(([name, field]) => (
        <FieldInput key={name} name={name} field={field} value={shown(name)} />
      ))}
      {props.children}
      <div>
        <button type="submit" className={tone}>
          {submit}
        </button>
      </div>
    </Form>
  );
}

/** Returns the refused values of this form of its page; undefined if another form or none was refused. */
function findSent({ view: { sent }, action, hidden = {} }: ActionProps) {
  const isOfForm = Object.entries({ ...hidden, action }).every(
    ([name, value]) => sent?.get(name) === value,
  );
  return isOfForm ? sent : undefined;
}

/** A form that opens below its name; open when it was refused. */
export function ActionMenu({ name, ...props }: ActionProps & { name: string }) {
  if (!props.view.offers(props.action)) return null;
  return (
    <Menu name={name} isOpen={findSent(props) !== undefined}>
      <ActionForm {...props} />
    </Menu>
  );
}

function FieldInput({
  name,
  field,
  value,
}: {
  name: string;
  field: SettingsField;
  value: unknown;
}) {
  const { label, type = "text", options = [], isOptional = false, max } = field;
  const choices = options.map((option) =>
    typeof option === "string" ? ([option, option] as const) : option,
  );
  if (type === "check")
    return (
      <label className="check">
        <input
          type="checkbox"
          name={name}
          value="yes"
          defaultChecked={value === true || value === "yes"}
        />{" "}
        {label}
      </label>
    );
  if (type === "checks")
    return (
      <fieldset className="field">
        <legend>{label}</legend>
        {choices.map(([choice, text]) => (
          <label key={choice} className="check">
            <input
              type="checkbox"
              name={name}
              value={choice}
              defaultChecked={Array.isArray(value) && value.includes(choice)}
            />{" "}
            {text}
          </label>
        ))}
      </fieldset>
    );
  const common = { name, required: !isOptional, maxLength: max };
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : "";
  return (
    <label>
      {label}
      {type === "multiline" ? (
        <textarea {...common} defaultValue={text} />
      ) : type === "select" ? (
        <select name={name} defaultValue={text}>
          {choices.map(([choice, words]) => (
            <option key={choice} value={choice}>
              {words}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          type={type}
          min={type === "number" ? 0 : undefined}
          autoComplete={type === "password" ? "off" : undefined}
          defaultValue={type === "password" ? undefined : text}
        />
      )}
    </label>
  );
}

/** An entry of a list with its buttons and forms. */
export interface SettingsEntry {
  readonly key: string | number;
  readonly name: ReactNode;
  readonly note?: ReactNode;
  readonly tools?: ReactNode;
}

/** The list of a page, in windows when `total` is given. */
export function Entries({
  view,
  label,
  entries,
  total,
  empty,
  command,
}: {
  view: Request;
  label: string;
  entries: readonly SettingsEntry[];
  total?: number | undefined;
  empty: string;
  /** Does on the command line what the page does. */
  command?: string;
}) {
  const { request } = view.context;
  return (
    <>
      {entries.length === 0 ? (
        <EmptyState {...(command === undefined ? {} : { command })}>{empty}</EmptyState>
      ) : (
        <ul className="list" aria-label={label}>
          {entries.map(({ key, name, note, tools }) => (
            <li key={key}>
              {name} {note === undefined ? null : <span className="quiet">{note}</span>}
              {tools === undefined ? null : <div className="tools">{tools}</div>}
            </li>
          ))}
        </ul>
      )}
      <Pager
        page={toPageNumber(request)}
        limit={LIMIT}
        total={total ?? entries.length}
        query={request.query}
      />
    </>
  );
}

/** The form that deletes an entry, below a word that opens it. */
export function DeleteEntry({
  view,
  hidden,
  submit,
  name = "Delete",
  action = "delete",
}: {
  view: View;
  hidden: Readonly<Record<string, string>>;
  submit: string;
  name?: string;
  action?: string;
}) {
  return <ActionMenu {...{ name, view, action, submit, hidden }} tone="danger" />;
}

/** Reads fields of a submitted form. */
export const readText = ({ form }: Request, name: string): string =>
  (form.get(name) ?? "").replaceAll("\r\n", "\n").trim();
export const readFlag = ({ form }: Request, name: string): boolean => form.get(name) === "yes";
/** The texts or flags of several fields, by their names. */
export const readTexts = (request: Request, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, readText(request, name)]));
export const readFlags = (request: Request, names: readonly string[]): Record<string, boolean> =>
  Object.fromEntries(names.map((name) => [name, readFlag(request, name)]));
/** Words that spaces, commas or ends of lines separate. */
export const readWords = ({ form }: Request, name: string): string[] =>
  (form.get(name) ?? "").split(/[\s,]+/).filter((word) => word !== "");
/** The values of all boxes with one name. */
export const readChecks = ({ form }: Request, name: string): string[] => form.getAll(name);
