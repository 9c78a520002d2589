import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { Model, ObjectRef } from './model.ts';

const MOST_FIELDS = 8;
const LONGEST = 120;
const textOf = (value: unknown): string => {
  const text =
    value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

/** Changed fields of an object with the new value and, under `was_<field>`, the old one; secrets are left out. */
export function changedFields(before: Model, after: Model, { kind, key }: ObjectRef): Record<string, string> {
  const fields = (model: Model) => (model.of(kind).get(key)?.body ?? {}) as Readonly<Record<string, unknown>>;
  const [old, now] = [fields(before), fields(after)];
  const secret: readonly string[] = CONFIG_SECRETS[kind] ?? [];
  const changed = Object.keys({ ...old, ...now }).filter(
    (name) => !secret.includes(name) && JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  // Creation and deletion are described by action and object.
  if (Object.keys(old).length === 0 || Object.keys(now).length === 0) return {};
  return Object.fromEntries(
    changed.slice(0, MOST_FIELDS).flatMap((name) => [
      [name, textOf(now[name])],
      [`was_${name}`, textOf(old[name])],
    ]),
  );
}
