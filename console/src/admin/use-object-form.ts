/** The form of one object: its input, stored in this browser until it is saved, and concurrent changes by others. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { QueryClient } from '@tanstack/react-query';
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigChange } from '@offhook/contract/config.ts';
import { useAttempt } from '../app/attempt.ts';
import { useDraft } from '../app/draft.ts';
import { equal, merged } from '../app/merge.ts';
import { useClient } from '../app/session.tsx';
import { useLatest } from '../app/use-latest.ts';
import { language } from '../app/words.ts';
import { objectQuery, textOf, useRenewed } from './data.ts';
import type { AnyObject } from './data.ts';
import { focusField } from './form-context.ts';
import { inWordsOf, mistakesOf, newOf, rebased } from './schema.ts';
import type { Fields, Mistake } from './schema.ts';

/** A change of a secret: a given value, a generated one, or none. It is never stored in the browser. */
export type SecretWish =
  | { readonly is: 'give'; readonly value: string }
  | { readonly is: 'renew' | 'remove' };
export interface Conflict {
  readonly current: AnyObject;
  /** Fields changed only by others, and those changed on both sides. */
  readonly theirs: readonly string[];
  readonly both: readonly string[];
}
interface Kept {
  readonly etag: string;
  readonly base: Fields;
  readonly values: Fields;
}
type Stored = Pick<AnyObject, 'etag' | 'object'>;
const unsavedText = (values: Fields, { etag, object }: Stored): string =>
  equal(values, object) ? '' : JSON.stringify({ etag, base: object, values } satisfies Kept);
const storedOf = (kept: Kept | null, read: Stored): Stored =>
  kept === null ? read : { etag: kept.etag, object: kept.base };
function keptOf(text: string): Kept | null {
  try {
    return text === '' ? null : (JSON.parse(text) as Kept);
  } catch {
    return null;
  }
}
export interface Saved {
  readonly key: string;
  readonly secrets: Readonly<Record<string, string>>;
}
interface Options {
  readonly kind: ConfigKind;
  /** Null for a new object. */
  readonly current: AnyObject | null;
  /** Initial values of a copy, instead of the defaults. */
  readonly copy?: Fields | undefined;
}
type Secrets = Readonly<Record<string, SecretWish>>;
interface Inputs {
  readonly values: Fields;
  readonly secrets: Secrets;
}
function withSecrets(values: Fields, secrets: Secrets): Fields {
  const given = Object.entries(secrets).flatMap(([name, wish]) =>
    wish.is === 'give' && wish.value !== '' ? [[name, wish.value] as const] : [],
  );
  return { ...values, ...Object.fromEntries(given) };
}
/** Inputs of a new object: those that were sent, and those of the form when it was left for the page of the object. */
interface Created {
  /** Kind and key of the object. */
  readonly of: string;
  readonly sent: Inputs;
  readonly left: Inputs;
}
/** The object that was created last, until its page opens; null where nothing was changed meanwhile. */
let created: Created | null = null;
/** Inputs of a new object that changed after it was sent, as unsaved inputs of the stored object. */
function typedSince(kind: ConfigKind, current: AnyObject | null): (Kept & Pick<Inputs, 'secrets'>) | null {
  if (current === null || created?.of !== `${kind}/${current.key}`) return null;
  const { etag, object } = current;
  const keyField = CONFIG_KINDS[kind].key;
  const { sent, left } = created;
  return {
    etag,
    base: object,
    values: { ...merged(sent.values, left.values, object), [keyField]: object[keyField] },
    secrets: newSecrets(sent.secrets, left.secrets),
  };
}
/** Reads these inputs on the first render, and stores them as the unsaved ones of the object's page. */
function useTypedSince(kind: ConfigKind, current: AnyObject | null, store: (text: string) => void) {
  const [typed] = useState(() => typedSince(kind, current));
  useEffect(() => {
    if (typed === null) return;
    created = null;
    store(unsavedText(typed.values, { etag: typed.etag, object: typed.base }));
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  return typed;
}
/** Keeps what differs from the inputs that were sent for the page of the new object. */
function keepTyped(kind: ConfigKind, key: string, sent: Inputs | null, left: Inputs): void {
  created = null;
  if (sent === null) return;
  const later = Object.keys(newSecrets(sent.secrets, left.secrets)).length > 0;
  if (later || !equal(sent.values, left.values)) created = { of: `${kind}/${key}`, sent, left };
}
/** Wishes that were made or changed after `sent`. */
const newSecrets = (sent: Secrets, wishes: Secrets): Secrets =>
  Object.fromEntries(Object.entries(wishes).filter(([name, wish]) => sent[name] !== wish));
/** Fields named by a refusal of the service. */
function refusedFields({ code, problem }: OffhookError, kind: ConfigKind, key: string): Mistake[] {
  if (code === 'name_taken') return [{ path: CONFIG_KINDS[kind].key, text: 'taken', detail: '' }];
  const own = (problem?.findings ?? []).filter((finding) => finding.kind === kind && finding.key === key);
  return own.map(({ path, detail }): Mistake => ({ path, text: 'refused', detail }));
}
/** The changes that save an object; `etag` is that of an existing one. */
function changesOf(
  saved: { readonly kind: ConfigKind; readonly object: Fields },
  current: AnyObject | null,
  etag: string,
  secrets: Secrets,
): ConfigChange[] {
  if (current === null) return [{ op: 'create', ...saved }];
  const put: ConfigChange = { op: 'put', ...saved, key: current.key, create: false, if_match: etag };
  const cleared = Object.entries(secrets).flatMap(([name, { is }]) => (is === 'give' ? [] : [[name, null]]));
  if (cleared.length === 0) return [put];
  // The reply contains generated secrets only if the patch is the last change.
  const patch = Object.fromEntries(cleared) as Fields;
  return [put, { op: 'patch', kind: saved.kind, key: current.key, patch }];
}
/** The texts of rules are English here; the service has them in the reader's language. */
async function translated(
  client: Client,
  own: readonly Mistake[],
  changes: ConfigChange[],
  { kind, key }: { readonly kind: ConfigKind; readonly key: string },
): Promise<readonly Mistake[]> {
  if (language() === 'en' || own.every(({ detail }) => detail === '')) return own;
  const ofThis = (finding: { readonly kind: string; readonly key: string }): boolean =>
    finding.kind === kind && finding.key === key;
  return await client.config.validate(changes).then(
    ({ findings }) => inWordsOf(own, findings.filter(ofThis)),
    () => own,
  );
}
/** Limit of the read after a save, during which the form is busy. */
const READ_MS = 10_000;
/** The saved object; as it was sent if it cannot be read now, because a failed read is no failed save. */
async function readSaved(
  queries: QueryClient,
  { queryKey, queryFn }: ReturnType<typeof objectQuery>,
  sent: AnyObject,
): Promise<AnyObject> {
  try {
    const fresh = await queryFn({ signal: AbortSignal.timeout(READ_MS) });
    queries.setQueryData(queryKey, fresh);
    return fresh;
  } catch {
    return sent;
  }
}
/** The errors of the fields; new ones move the focus to the first. */
function useMistakes() {
  const [mistakes, setMistakes] = useState<readonly Mistake[]>([]);
  const wrong = (found: readonly Mistake[]): void => {
    setMistakes(found);
    const [first] = found;
    if (first !== undefined) requestAnimationFrame(() => focusField(first.path));
  };
  /** Other texts of the same errors, unless the form has been checked again. */
  const reword = (before: readonly Mistake[], after: readonly Mistake[]): void =>
    setMistakes((now) => (now === before ? after : now));
  return [mistakes, wrong, reword] as const;
}
export function useObjectForm({ kind, current, copy }: Options) {
  const client = useClient();
  const queries = useQueryClient();
  const renew = useRenewed();
  const isNew = current === null;
  const start = useMemo(() => current?.object ?? { ...newOf(kind), ...copy }, [current, kind, copy]);
  const [draft, setDraft, clearDraft] = useDraft(`config.${kind}.${current?.key ?? ''}`);
  const typed = useTypedSince(kind, current, setDraft);
  const [kept] = useState(() => typed ?? keptOf(draft));
  const [base, setBase] = useState(() => storedOf(kept, { etag: current?.etag ?? '', object: start }));
  const [values, setValues] = useState<Fields>(kept?.values ?? start);
  const [secrets, setSecrets] = useState<Secrets>(typed?.secrets ?? {});
  const [mistakes, wrong, reword] = useMistakes();
  const [error, setError] = useState<unknown>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [busy, setBusy] = useState(false);
  const dirty = !equal(values, base.object) || Object.keys(secrets).length > 0;
  const attempt = useAttempt();
  const now = useLatest<Inputs>({ values, secrets });
  const lastSent = useRef<Inputs>(null);

  function show(next: Fields, saved: Stored): void {
    setValues(next);
    setDraft(unsavedText(next, saved));
  }
  /** Shows an object that was read. `sent` are the inputs from which it was saved; inputs that changed since then stay. */
  function adopt(fresh: AnyObject, sent: Inputs = now.current): void {
    setBase(fresh);
    show(merged(sent.values, now.current.values, fresh.object), fresh);
    setSecrets((wishes) => newSecrets(sent.secrets, wishes));
    setConflict(null);
    setError(null);
    wrong([]);
  }
  useEffect(() => {
    if (current === null || current.etag === base.etag) return;
    if (equal(current.object, base.object)) setBase({ etag: current.etag, object: base.object });
    else if (!dirty) adopt(current);
    else setConflict({ current, ...rebased(base.object, values, current.object) });
    // Runs only when the object itself changed.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [current]);

  const change = (next: Fields): void => show(next, base);
  async function refused(caught: unknown): Promise<void> {
    setError(caught);
    if (!(caught instanceof OffhookError)) return;
    const key = current?.key ?? textOf(values, CONFIG_KINDS[kind].key);
    const found = refusedFields(caught, kind, key);
    if (found.length > 0) wrong(found);
    if (caught.code === 'precondition_failed' && current !== null)
      await queries.invalidateQueries({ queryKey: ['config', 'object', kind, key] });
  }
  /** Null if it was not saved; the form shows the reasons. */
  async function save(): Promise<Saved | null> {
    const sent: Inputs = (lastSent.current = { values, secrets });
    const object = withSecrets(values, secrets);
    setError(null);
    const changes = changesOf({ kind, object }, current, base.etag, secrets);
    const key = current?.key ?? textOf(object, CONFIG_KINDS[kind].key);
    const own = mistakesOf(kind, object);
    wrong(own);
    if (own.length > 0) {
      void translated(client, own, changes, { kind, key }).then((said) => reword(own, said));
      return null;
    }
    setBusy(true);
    try {
      const reply = await attempt(changes, (options) => client.config.change(changes, {}, options));
      clearDraft();
      const query = objectQuery(client, kind, key);
      const shown = isNew
        ? Promise.resolve()
        : readSaved(queries, query, { ...current, object: values }).then((fresh) => adopt(fresh, sent));
      // Not awaited: new secrets are shown once, and a lost page would lose them.
      void shown.then(() => setBusy(false)).then(renew);
      return { key, secrets: reply.secrets.find((s) => s.kind === kind && s.key === key)?.secrets ?? {} };
    } catch (caught) {
      await refused(caught);
      setBusy(false);
      return null;
    }
  }
  return {
    values,
    change,
    secrets,
    setSecret: (name: string, wish: SecretWish | null): void =>
      setSecrets(({ [name]: _before, ...rest }) => (wish === null ? rest : { ...rest, [name]: wish })),
    mistakes,
    error,
    busy,
    dirty,
    restored: kept !== null,
    save,
    undo: (): void => {
      if (current !== null) return adopt(current);
      setValues(start);
      wrong([]);
      setError(null);
      clearDraft();
    },
    /** Call it before the page of the new object opens: what was typed since the creation goes there. */
    leave(key: string): void {
      keepTyped(kind, key, lastSent.current, now.current);
      clearDraft();
    },
    conflict,
    keepMine: (): void => {
      if (conflict === null) return;
      setBase(conflict.current);
      show(merged(base.object, values, conflict.current.object), conflict.current);
      setConflict(null);
      setError(null);
    },
    takeTheirs: (): void => {
      if (conflict !== null) adopt(conflict.current);
    },
  };
}
export type ObjectForm = ReturnType<typeof useObjectForm>;
