import type { ReactNode } from "react";
import { Alert } from "./elements.tsx";

/** One field of a form. */
export interface Field {
  /** Undefined for a hidden field. */
  readonly label?: string;
  /** `check` is a box; its value is `yes`, or empty. */
  readonly type: "text" | "email" | "password" | "date" | "hidden" | "multiline" | "check";
  readonly isOptional?: boolean;
  readonly lengthMax?: number;
  readonly autoComplete?: string;
  readonly autoCapitalize?: "none";
  /** Whether white space around the value is dropped. */
  readonly isTrimmed?: boolean;
  readonly placeholder?: string;
}

/** Why a form is shown again. */
export interface FormFailure<Name extends string> {
  readonly text: string;
  /** The field that must change, if it is one. */
  readonly field?: Name;
}

type Values<Name extends string> = Readonly<Record<Name, string>>;

/** The state of a form on a page. */
export interface FormState<Name extends string> {
  /** Replaces the declared address, for a form whose target is a resource. */
  readonly action?: string;
  /** The token of the session; undefined for a form of anonymous callers. */
  readonly token: string | undefined;
  /** What the fields have at first. A password is never shown again. */
  readonly values?: Partial<Values<Name>> | undefined;
  readonly failed?: FormFailure<NoInfer<Name>> | undefined;
  /** Further buttons, after that of the form. */
  readonly children?: ReactNode;
}

/** A declared form: its page shows it with `Form`, and the target of its button reads it with `read`. */
export interface DeclaredForm<Name extends string> {
  /** Returns the submitted fields; a missing one is empty. */
  read(form: URLSearchParams): Values<Name>;
  Form(state: FormState<Name>): ReactNode;
}

export interface FormOptions<Name extends string> {
  /** The address of the target; each page gives its own when this is absent. */
  readonly action?: string;
  /** The text of the button. */
  readonly submit: string;
  readonly fields: Readonly<Record<Name, Field>>;
}

/** Declares a form, with a label above each field and the failure above all. */
export function declareForm<Name extends string>({
  action,
  submit,
  fields,
}: FormOptions<Name>): DeclaredForm<Name> {
  const declared = Object.entries(fields) as [Name, Field][];
  return {
    read(form) {
      const values = declared.map(([name, { isTrimmed }]) => {
        const value = form.get(name) ?? "";
        return [name, isTrimmed === true ? value.trim() : value];
      });
      return Object.fromEntries(values) as Values<Name>;
    },
    Form: ({ token, values = {}, failed, action: target = action, children }) => (
      <>
        <Alert text={failed?.text} />
        <Form action={target} token={token} className="stack">
          {declared.map(([name, field]) => (
            <FieldInput
              key={name}
              name={name}
              field={field}
              value={(values as Partial<Values<Name>>)[name]}
              isInvalid={failed?.field === name}
            />
          ))}
          <div>
            <button type="submit">{submit}</button> {children}
          </div>
        </Form>
      </>
    ),
  };
}

function FieldInput({
  name,
  field,
  value,
  isInvalid,
}: {
  name: string;
  field: Field;
  value: string | undefined;
  isInvalid: boolean;
}) {
  const { label, type, isOptional = false, lengthMax } = field;
  if (type === "hidden") return <input type="hidden" name={name} value={value ?? ""} />;
  if (type === "check")
    return (
      <label className="check">
        <input type="checkbox" name={name} value="yes" defaultChecked={value === "yes"} /> {label}
      </label>
    );
  const common = {
    name,
    required: !isOptional,
    maxLength: lengthMax,
    placeholder: field.placeholder,
    defaultValue: type === "password" ? undefined : value,
    "aria-invalid": isInvalid || undefined,
  };
  return (
    <label>
      {label}
      {type === "multiline" ? (
        <textarea {...common} />
      ) : (
        <input
          {...common}
          type={type}
          autoComplete={field.autoComplete}
          autoCapitalize={field.autoCapitalize}
        />
      )}
    </label>
  );
}

/** A form of this session, with the token against cross-site requests. */
export function Form({
  id,
  action,
  token,
  className,
  encType,
  data,
  children,
}: {
  /** For fields that stand outside of the form. */
  id?: string;
  /** The page itself when absent. */
  action: string | undefined;
  token: string | undefined;
  className?: string;
  /** `multipart/form-data` for a form with files. */
  encType?: "multipart/form-data";
  /** Attributes for the script of the site. */
  data?: Readonly<Record<`data-${string}`, string>>;
  children: ReactNode;
}) {
  return (
    <form id={id} method="post" action={action} className={className} encType={encType} {...data}>
      {token === undefined ? null : <input type="hidden" name="form_token" value={token} />}
      {children}
    </form>
  );
}

/** Searches the list of this page. `kept` are the parts of the query that stay. */
export function SearchForm({
  label,
  query,
  kept = {},
  placeholder,
}: {
  label: string;
  query: string;
  placeholder?: string;
  kept?: Readonly<Record<string, string>>;
}) {
  return (
    <form method="get" className="row list-search" role="search">
      {Object.entries(kept).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <input
        type="search"
        name="q"
        defaultValue={query}
        maxLength={200}
        aria-label={label}
        placeholder={placeholder}
      />
      <button type="submit">Search</button>
    </form>
  );
}
