/**
 * Rules that block or allow callers. The engine's own store has each rule in every spelling of its number, so rules
 * hold while the service is down. A feature code writes a rule into that store; the service reads it when the call
 * record of the code arrives, or after its next connect.
 */
import { MAX_CALLER_RULES } from '@offhook/contract/caller-rules.ts';
import type { CallerRule, NewCallerRule, RuleAction } from '@offhook/contract/caller-rules.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { EngineCopy } from '../../commands/engine-copy.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { writeQueue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import { prefixOf, prefixSpellings, spellingsOf, toE164 } from '../../numbers/e164.ts';
import type { Audit } from '../../ports/audit.ts';
import type { CallerRuleVerbs, StoredCallerRule } from '../../ports/engine-verbs.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { KnownAbout, PersonalData } from '../../ports/privacy.ts';
import type { RuleRow, RuleTables } from './tables.ts';
import { migrations } from './tables.ts';

export interface CallerRuleDeps extends Common<'clock' | 'log' | 'publish' | 'store'> {
  readonly engine: CallerRuleVerbs;
  /** Country of the site: numbers of this country also arrive in their national spelling. */
  readonly country: string;
  readonly audit: Required<Audit>;
}
const PATIENCE_MS = 30_000;
const ANONYMOUS = 'anonymous';
const NONE: StoredCallerRule = { number: null, prefix: null, by: null };
const shown = ({ id, action, match, number, note, created_by, created_at }: RuleRow): CallerRule => ({
  id,
  action,
  match,
  number: match === ANONYMOUS ? null : number,
  note,
  created_by,
  created_at: rfc3339(created_at),
});
const isSame = (a: StoredCallerRule | null | undefined, b: StoredCallerRule): boolean =>
  a != null && a.number === b.number && a.prefix === b.prefix && a.by === b.by;

export class CallerRules {
  readonly #deps: CallerRuleDeps;
  /** Newest first. */
  #rows: readonly RuleRow[];
  readonly #writes = writeQueue(PATIENCE_MS);
  readonly #copy: EngineCopy;
  /** Authors of adopted rules, by key, until the engine's store has none of them. */
  readonly #adopted = new Map<string, string>();
  /** True while an erasure waits for the engine to delete the last callers of phones. */
  #forgets = false;

  private constructor(deps: CallerRuleDeps, rows: readonly RuleRow[]) {
    this.#deps = deps;
    this.#rows = rows;
    this.#copy = new EngineCopy({
      compare: (signal) => this.#compare(signal),
      failed: 'rules for callers could not be stored in the engine',
      ...deps,
    });
  }
  /** Runs the migrations. */
  static async open(deps: CallerRuleDeps): Promise<CallerRules> {
    await deps.store.migrate('caller-rules', migrations);
    const rows = await deps.store
      .db<RuleTables>()
      .selectFrom('caller_rules')
      .selectAll()
      .orderBy('id', 'desc')
      .execute();
    return new CallerRules(deps, rows);
  }

  list(): { readonly enforced: boolean; readonly rules: CallerRule[] } {
    return { enforced: this.#copy.isCurrent, rules: this.#rows.map(shown) };
  }
  /** Throws `invalid_request`, `forbidden`, `name_taken` and `limit_reached`. */
  create(actor: Actor, wanted: NewCallerRule): Promise<CallerRule> {
    const { caller, ip } = actor;
    const single = wanted.action === 'block' && wanted.match === 'number';
    if (!single && !includesLevel(caller.level, 'supervisor'))
      throw new ServiceError(
        'forbidden',
        'match: an agent can only block single numbers; other rules need the level supervisor',
      );
    const number = this.#keyOf(wanted);
    return this.#writes.run(async () => {
      const known = this.#rows.find((r) => r.match === wanted.match && r.number === number);
      if (known?.action === wanted.action) return shown(known);
      if (known !== undefined)
        throw new ServiceError('name_taken', 'a rule with the other action has this number; delete it first');
      const by = { created_by: caller.username, ip };
      return shown(await this.#add({ ...wanted, number, ...by }));
    });
  }
  /** Throws `not_found`. */
  remove({ caller, ip }: Actor, id: number): Promise<void> {
    return this.#writes.run(async () => {
      const row = this.#rows.find((r) => r.id === id);
      if (row === undefined) throw new ServiceError('not_found', 'there is no such rule');
      await this.#delete(row, caller.username, ip);
    });
  }
  /** Call after each connect to the engine: makes its store equal to the rules. */
  again(): void {
    this.#copy.again();
  }
  /** Call when a feature code wrote a rule into the engine's store. */
  readonly written = (): void => this.#copy.changed();
  close(): Promise<void> {
    return this.#copy.close();
  }
  readonly data: PersonalData = {
    name: 'caller rules',
    count: async (subject) => {
      const n = this.#rows.filter((row) => this.#isAbout(row, subject)).length;
      return n === 0 ? {} : { caller_rules: n };
    },
    erase: (subject, placeholder) =>
      this.#writes.run(async () => {
        const found = this.#rows.filter((row) => this.#isAbout(row, subject));
        for (const row of found)
          if (subject.isIn(row.number)) await this.#delete(row, null, null);
          else await this.#without(row, subject, placeholder);
        this.#forgets = true;
        // While the engine is away, the next `#compare` deletes them.
        await this.#forgetLast().catch((error: unknown) => {
          if (!(error instanceof ServiceError) || error.code !== 'engine_unavailable') throw error;
        });
        return found.length === 0 ? {} : { caller_rules: found.length };
      }),
    collect: (subject) => this.#about(subject),
  };

  async *#about(subject: Subject): AsyncGenerator<KnownAbout> {
    for (const row of this.#rows)
      if (this.#isAbout(row, subject)) yield { kind: 'caller_rule', value: shown(row) };
  }
  readonly #isAbout = ({ number, note, created_by }: RuleRow, subject: Subject): boolean =>
    [number, note ?? '', created_by].some((text) => subject.isIn(text));

  /** Stored form of a rule: numbers in E.164 if they have that form. Throws `invalid_request`. */
  #keyOf({ action, match, number }: NewCallerRule): string {
    const { country } = this.#deps;
    if (match === ANONYMOUS) {
      if (number === null && action === 'block') return ANONYMOUS;
      throw new ServiceError(
        'invalid_request',
        'match: anonymous callers have no number and can only be blocked',
      );
    }
    if (number === null) throw new ServiceError('invalid_request', 'number: is missing');
    if (match === 'number') return toE164(number, country) ?? number.replace(/^00/, '+');
    const prefix = prefixOf(number, country);
    if (prefix !== null) return prefix;
    throw new ServiceError(
      'invalid_request',
      'number: a prefix must begin with +, 00 or the national prefix of the site, and have at most 15 digits',
    );
  }
  async #add({
    ip,
    action,
    match,
    number,
    note,
    created_by,
  }: Omit<RuleRow, 'id' | 'created_at'> & { readonly ip: string | null }): Promise<RuleRow> {
    const { store, audit, clock } = this.#deps;
    if (this.#rows.length >= MAX_CALLER_RULES)
      throw new ServiceError('limit_reached', say`a site has at most ${MAX_CALLER_RULES} rules for callers`);
    const fresh = { action, match, number, note, created_by, created_at: clock.now() };
    const row = await store.transaction<RuleTables, RuleRow>(async (trx) => {
      const { id } = await trx
        .insertInto('caller_rules')
        .values(fresh as RuleRow)
        .returning('id')
        .executeTakeFirstOrThrow();
      await audit.recordIn(trx, {
        action: 'caller_rule.created',
        actor: created_by,
        object: `caller_rule:${id}`,
        outcome: 'ok',
        ip,
        detail: { rule: action, match },
      });
      return { id, ...fresh };
    });
    this.#rows = [row, ...this.#rows];
    this.#changed('created', row);
    return row;
  }
  async #delete(row: RuleRow, actor: string | null, ip: string | null): Promise<void> {
    const { store, audit } = this.#deps;
    await store.transaction<RuleTables, void>(async (trx) => {
      await trx.deleteFrom('caller_rules').where('id', '=', row.id).execute();
      await audit.recordIn(trx, {
        action: 'caller_rule.deleted',
        actor,
        object: `caller_rule:${row.id}`,
        outcome: 'ok',
        ip,
        detail: { rule: row.action, match: row.match },
      });
    });
    this.#rows = this.#rows.filter(({ id }) => id !== row.id);
    this.#changed('deleted', row);
  }
  async #without(row: RuleRow, subject: Subject, placeholder: string): Promise<void> {
    const note = row.note === null ? null : subject.without(row.note, placeholder);
    const next = { ...row, note, created_by: subject.without(row.created_by, placeholder) };
    await this.#deps.store
      .db<RuleTables>()
      .updateTable('caller_rules')
      .set({ note: next.note, created_by: next.created_by })
      .where('id', '=', row.id)
      .execute();
    this.#rows = this.#rows.map((one) => (one === row ? next : one));
  }
  #changed(change: 'created' | 'deleted', { id, action, match }: RuleRow): void {
    this.#deps.publish([
      {
        type: 'phonebook.callers_changed',
        subject: `caller-rules/${id}`,
        at: this.#deps.clock.now(),
        observed: 'live',
        data: { change, id, action, match, extension: null },
      },
    ]);
    this.#copy.changed();
  }
  async #forgetLast(): Promise<void> {
    await this.#deps.engine.forgetLastCallers({ signal: this.#copy.signal });
    this.#forgets = false;
  }
  /** Adopts the rules that feature codes wrote, then makes the engine's store equal to all rules. */
  async #compare(signal: AbortSignal): Promise<void> {
    const { engine } = this.#deps;
    if (this.#forgets) await this.#forgetLast();
    const stored = new Map<string, StoredCallerRule | null>();
    await engine.storedCallerRules((key, rule) => void stored.set(key, rule), { signal });
    for (const [key, rule] of stored) {
      // A rule that was deleted since its adoption must not return.
      if (rule?.by == null || this.#adopted.get(key) === rule.by) continue;
      await this.#adopt(key, rule.by);
      this.#adopted.set(key, rule.by);
    }
    const changes = new Map<string, StoredCallerRule | null>();
    const wanted = this.#stored();
    for (const key of stored.keys()) if (!wanted.has(key)) changes.set(key, null);
    for (const [key, rule] of wanted) if (!isSame(stored.get(key), rule)) changes.set(key, rule);
    await engine.keepCallerRules(changes, { signal });
    this.#adopted.clear();
  }
  #adopt(key: string, by: string): Promise<void> {
    return this.#writes.run(async () => {
      const { country, log } = this.#deps;
      const number = toE164(key, country) ?? toE164(`+${key.replace(/^\+/, '')}`, country) ?? key;
      if (this.#rows.some((r) => r.match === 'number' && r.number === number)) return;
      try {
        await this.#add({ action: 'block', match: 'number', number, note: null, created_by: by, ip: null });
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'limit_reached') throw error;
        log.warn({ by }, 'a feature code could not block a caller: there are too many rules');
      }
    });
  }
  /** Target state of the engine's store. */
  #stored(): Map<string, StoredCallerRule> {
    const { country } = this.#deps;
    const stored = new Map<string, StoredCallerRule>();
    const put = (key: string, field: 'number' | 'prefix', action: RuleAction): void => {
      const before = stored.get(key) ?? NONE;
      // Two rules with one spelling: the allowing one wins.
      if (before[field] !== 'allow') stored.set(key, { ...before, [field]: action });
    };
    for (const { match, number, action } of this.#rows) {
      if (match === 'prefix') for (const key of prefixSpellings(number, country)) put(key, 'prefix', action);
      else
        for (const key of number.startsWith('+') ? spellingsOf(number, country) : [number])
          put(key, 'number', action);
    }
    return stored;
  }
}
