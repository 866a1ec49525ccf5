import type { WireIssueTemplate } from "../../contract/forge/code/issue-templates.ts";
import { Rendered } from "../../pages/elements.tsx";
import { toFence } from "../../pages/page.ts";
import type { ForgePageContext } from "./forge-page.ts";

/** A field of an issue form, as its template declares it. */
export type TemplateField = NonNullable<WireIssueTemplate["body"]>[number];

/** Returns a text of the attributes, which the service of templates has validated. */
const of = ({ attributes }: TemplateField, name: string): string => {
  const value = attributes?.[name];
  return typeof value === "string" ? value : "";
};
const has = (members: Readonly<Record<string, unknown>> | null, name: string): boolean =>
  members?.[name] === true;
const isNeeded = ({ validations }: TemplateField) => has(validations, "required");
const isShown = ({ visible }: TemplateField, where: "form" | "content") =>
  (visible ?? []).includes(where);

interface CheckOption {
  readonly label: string;
  readonly isNeeded: boolean;
  readonly visible: readonly string[];
}

/** The options of a field of check boxes or of a menu. */
function readOptions({ attributes }: TemplateField): readonly CheckOption[] {
  const options = attributes?.["options"];
  if (!Array.isArray(options)) return [];
  return options.map((option: unknown) => {
    if (typeof option !== "object" || option === null)
      return { label: String(option), isNeeded: false, visible: ["form", "content"] };
    const { label, required, visible } = option as Readonly<Record<string, unknown>>;
    return {
      label: String(label),
      isNeeded: required === true,
      visible: Array.isArray(visible) ? visible.map(String) : ["form", "content"],
    };
  });
}

/** Names of fields in the form begin so: those of a template may be any words. */
const nameOf = ({ id }: TemplateField) => `field-${id}`;

/** The fields of an issue form. `html` has the rendered texts of a template by the position of their fields. */
export function TemplateFields({
  fields,
  form,
  html,
}: {
  fields: readonly TemplateField[];
  /** What was sent; undefined for a form that is shown first. */
  form: URLSearchParams | undefined;
  html: readonly (string | undefined)[];
}) {
  return (
    <>
      {fields.map((field, at) =>
        !isShown(field, "form") ? null : field.type === "markdown" ? (
          <Rendered key={at} html={html[at]} text={of(field, "value")} />
        ) : (
          <Field key={at} field={field} form={form} />
        ),
      )}
    </>
  );
}

function Field({ field, form }: { field: TemplateField; form: URLSearchParams | undefined }) {
  const label = (
    <span className={isNeeded(field) ? "needed" : undefined}>{of(field, "label")}</span>
  );
  const description = of(field, "description");
  const hint = description === "" ? null : <span className="hint">{description}</span>;
  if (field.type === "checkboxes" || isSeveral(field))
    return (
      <fieldset className="field">
        <legend>{label}</legend>
        {hint}
        <Choices field={field} form={form} />
      </fieldset>
    );
  return (
    <label>
      {label}
      {hint === null ? null : <div>{hint}</div>}
      <Input field={field} form={form} />
    </label>
  );
}

const isSeveral = ({ type, attributes }: TemplateField) =>
  type === "dropdown" && has(attributes, "multiple");

function Choices({ field, form }: { field: TemplateField; form: URLSearchParams | undefined }) {
  const sent = form === undefined ? undefined : new Set(form.getAll(nameOf(field)));
  const initial = field.attributes?.["default"];
  return (
    <ul className="choices">
      {readOptions(field).map((option, at) =>
        !option.visible.includes("form") ? null : (
          <li key={at}>
            <label>
              <input
                type="checkbox"
                name={nameOf(field)}
                value={at}
                required={option.isNeeded}
                defaultChecked={sent === undefined ? at === initial : sent.has(String(at))}
              />
              <span className={option.isNeeded ? "needed" : undefined}>{option.label}</span>
            </label>
          </li>
        ),
      )}
    </ul>
  );
}

function Input({ field, form }: { field: TemplateField; form: URLSearchParams | undefined }) {
  const name = nameOf(field);
  const common = { name, required: isNeeded(field) };
  const value = form?.get(name) ?? of(field, "value");
  const placeholder = of(field, "placeholder");
  const { validations } = field;
  if (field.type === "textarea")
    return <textarea {...common} placeholder={placeholder} defaultValue={value} />;
  if (field.type === "dropdown")
    return (
      <select
        {...common}
        defaultValue={form?.get(name) ?? String(field.attributes?.["default"] ?? "")}
      >
        <option value="">Choose</option>
        {readOptions(field).map(({ label }, at) => (
          <option key={at} value={at}>
            {label}
          </option>
        ))}
      </select>
    );
  const pattern = validations?.["regex"];
  return (
    <input
      {...common}
      type={has(validations, "is_number") ? "number" : "text"}
      step="any"
      data-draft=""
      placeholder={placeholder}
      defaultValue={value}
      {...(typeof pattern === "string" ? { pattern, title: `In the form ${pattern}` } : {})}
    />
  );
}

/** Tests a value against the pattern of a template. */
export type MatchPattern = (pattern: string, value: string) => Promise<boolean>;

/** Returns why the values of a form are refused; undefined if they are valid. */
export async function findFieldFault(
  fields: readonly TemplateField[],
  { form }: ForgePageContext,
  matches: MatchPattern,
): Promise<string | undefined> {
  for (const field of fields) {
    if (!isShown(field, "form") || field.type === "markdown") continue;
    const label = of(field, "label");
    const sent = form.getAll(nameOf(field)).filter((value) => value.trim() !== "");
    if (isNeeded(field) && sent.length === 0) return `“${label}” is missing.`;
    const fault = await findFault(field, sent, matches);
    if (fault !== undefined) return `“${label}”: ${fault}`;
  }
  return undefined;
}

async function findFault(
  field: TemplateField,
  sent: readonly string[],
  matches: MatchPattern,
): Promise<string | undefined> {
  const { type, validations } = field;
  const [value = ""] = sent;
  if (type === "checkboxes" || type === "dropdown") {
    const options = readOptions(field);
    if (sent.some((each) => !/^\d{1,4}$/.test(each) || options[Number(each)] === undefined))
      return "this is not one of the options.";
    const ticked = new Set(sent);
    const missing = options.find((option, at) => option.isNeeded && !ticked.has(String(at)));
    return missing === undefined ? undefined : `“${missing.label}” must be ticked.`;
  }
  if (value === "" || type !== "input") return undefined;
  if (has(validations, "is_number") && !Number.isFinite(Number(value)))
    return "a number is needed.";
  const pattern = validations?.["regex"];
  return typeof pattern === "string" && !(await matches(pattern, value))
    ? `the value must have the form ${pattern}.`
    : undefined;
}

/** Returns the values of a form as the text of an issue: a heading for each field, as Gitea writes it. */
export function toIssueText(fields: readonly TemplateField[], { form }: ForgePageContext): string {
  return fields
    .filter((field) => isShown(field, "content"))
    .map((field) => toSection(field, form))
    .filter((section) => section !== "")
    .join("\n\n");
}

function toSection(field: TemplateField, form: URLSearchParams): string {
  if (field.type === "markdown") return of(field, "value");
  const heading = has(field.attributes, "hide_label") ? "" : `### ${of(field, "label")}\n\n`;
  return heading + toValue(field, form);
}

function toValue(field: TemplateField, form: URLSearchParams): string {
  const sent = form.getAll(nameOf(field));
  const ticked = new Set(sent);
  const options = readOptions(field);
  const value = (sent[0] ?? "").replaceAll("\r\n", "\n");
  switch (field.type) {
    case "checkboxes":
      return options
        .map((option, at) => ({ ...option, isTicked: ticked.has(String(at)) }))
        .filter(({ visible }) => visible.includes("content"))
        .map(({ label, isTicked }) => `- [${isTicked ? "x" : " "}] ${label}`)
        .join("\n");
    case "dropdown": {
      const chosen = options.filter((_option, at) => ticked.has(String(at)));
      const labels = chosen.map(({ label }) => label);
      if (labels.length === 0) return "_No response_";
      return has(field.attributes, "list")
        ? labels.map((label) => `- ${label}`).join("\n")
        : labels.join(", ");
    }
    case "textarea":
      if (value.trim() === "") return "_No response_";
      return of(field, "render") === "" ? value : toCodeBlock(value, of(field, "render"));
    default:
      return value.trim() === "" ? "_No response_" : value;
  }
}

/** Returns code as a code block of Markdown. */
function toCodeBlock(code: string, language: string): string {
  const fence = toFence(code);
  return `${fence}${language.replace(/[\s`]/g, "")}\n${code}\n${fence}`;
}
