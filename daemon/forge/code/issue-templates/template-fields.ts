import type { WireIssueTemplate } from "../../../contract/forge/code/issue-templates.ts";
import type { ExpressionValue } from "../../../workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";

type Field = NonNullable<WireIssueTemplate["body"]>[number];

/** Texts of each type of field; a type that is absent here is unknown. */
const texts: ReadonlyMap<string, readonly string[]> = new Map([
  ["markdown", []],
  ["textarea", ["description", "placeholder", "value", "render"]],
  ["input", ["description", "placeholder", "value"]],
  ["dropdown", ["description"]],
  ["checkboxes", ["description"]],
]);

/** Returns why a form is invalid, in the words of the reference; undefined for a valid one. */
export function findFieldFault(fields: readonly Field[]): string | undefined {
  const ids = new Set<string>();
  for (const [at, field] of fields.entries()) {
    const fault = findFault(field, ids);
    if (fault !== undefined) {
      const option = fault.option === undefined ? "" : `, option[${fault.option}]`;
      return `body[${at}](${field.type})${option}: ${fault.message}`;
    }
  }
  return undefined;
}

interface FieldFault {
  readonly message: string;
  readonly option?: number;
}

function findFault(field: Field, ids: Set<string>): FieldFault | undefined {
  const { type, id } = field;
  const attributes = (field.attributes ?? {}) as Mapping;
  const validations = (field.validations ?? {}) as Mapping;
  const known = texts.get(type);
  if (known === undefined) return { message: "unknown type" };
  if (type === "markdown") return findTextFault(attributes, "value", true);
  if (!/^[\w-]+$/.test(id))
    return { message: "'id' should contain only alphanumeric, '-' and '_'" };
  if (ids.has(id)) return { message: "'id' should be unique" };
  ids.add(id);
  const isHidden = !(field.visible ?? []).includes("form");
  return (
    findTextFault(attributes, "label", true) ??
    first(known, (name) => findTextFault(attributes, name, false)) ??
    findFlagFault(validations, "required") ??
    (validations["required"] === true && isHidden
      ? { message: "can not require a hidden field" }
      : undefined) ??
    (type === "input"
      ? (findFlagFault(validations, "is_number") ?? findTextFault(validations, "regex", false))
      : undefined) ??
    (type === "dropdown" ? findDropdownFault(attributes) : undefined) ??
    (type === "checkboxes" ? findOptionsFault(attributes, findCheckboxFault) : undefined)
  );
}

function findDropdownFault(attributes: Mapping): FieldFault | undefined {
  const fault =
    findFlagFault(attributes, "multiple") ??
    findFlagFault(attributes, "list") ??
    findOptionsFault(attributes, (option) =>
      typeof option === "string" ? undefined : "should be a string",
    );
  const chosen = attributes["default"];
  if (fault !== undefined || chosen === undefined) return fault;
  if (!Number.isInteger(chosen)) return { message: "'default' should be an int" };
  const options = attributes["options"];
  const count = Array.isArray(options) ? options.length : 0;
  return Number(chosen) < 0 || Number(chosen) >= count
    ? { message: "the value of 'default' is out of range" }
    : undefined;
}

function findOptionsFault(
  attributes: Mapping,
  find: (option: ExpressionValue) => string | undefined,
): FieldFault | undefined {
  const options = attributes["options"];
  if (!Array.isArray(options) || options.length === 0)
    return { message: "'options' is required and should be a array" };
  for (const [option, value] of options.entries()) {
    const message = find(value);
    if (message !== undefined) return { message, option };
  }
  return undefined;
}

function findCheckboxFault(option: ExpressionValue): string | undefined {
  if (!isMapping(option)) return "should be a dictionary";
  if (typeof option["label"] !== "string" || option["label"] === "")
    return "'label' is required and should be a string";
  const visible = option["visible"];
  if (visible !== undefined) {
    if (!Array.isArray(visible)) return "'visible' should be list";
    if (visible.some((word) => word !== "form" && word !== "content"))
      return "'visible' list can only contain strings of 'form' and 'content'";
  }
  const required = option["required"];
  if (required === undefined) return undefined;
  if (typeof required !== "boolean") return "'required' should be a bool";
  const isHidden = Array.isArray(visible) && !visible.includes("form");
  return required && isHidden ? "can not require a hidden checkbox" : undefined;
}

function findTextFault(value: Mapping, name: string, isRequired: boolean): FieldFault | undefined {
  const text = value[name];
  if (text === undefined) return isRequired ? { message: `'${name}' is required` } : undefined;
  if (typeof text !== "string") return { message: `'${name}' should be a string` };
  return isRequired && text.trim() === "" ? { message: `'${name}' is required` } : undefined;
}

function findFlagFault(value: Mapping, name: string): FieldFault | undefined {
  const flag = value[name];
  return flag === undefined || typeof flag === "boolean"
    ? undefined
    : { message: `'${name}' should be a bool` };
}

function first<T>(
  list: readonly T[],
  find: (each: T) => FieldFault | undefined,
): FieldFault | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}
