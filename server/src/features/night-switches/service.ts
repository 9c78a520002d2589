/** Lists the night switches with their state in the engine, switches them, and audits switching by phone. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { NightSwitch } from '@offhook/contract/night-switches.ts';
import { audited } from '../../commands/audited.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { SwitchVerbs } from '../../ports/engine-verbs.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';

export interface NightSwitchDeps extends Common<'audit' | 'log'> {
  /** Time conditions with the extensions that may switch them. */
  readonly conditions: () => readonly {
    readonly name: string;
    readonly title: string;
    readonly number: string | null;
    readonly switched_by: readonly string[];
  }[];
  readonly engine: SwitchVerbs;
  readonly live: Pick<LiveView, 'live' | 'switched' | 'until'>;
}
const CONFIRM_MS = 3_000;

export class NightSwitches {
  readonly #deps: NightSwitchDeps;
  #work: Promise<void> = Promise.resolve();
  constructor(deps: NightSwitchDeps) {
    this.#deps = deps;
  }
  get stale(): boolean {
    return !this.#deps.live.live;
  }
  list(): NightSwitch[] {
    const { conditions, live } = this.#deps;
    return conditions()
      .flatMap(({ name, title, number, switched_by }) =>
        number === null || switched_by.length === 0
          ? []
          : [{ name, title, number, to: live.switched.get(name) ?? null }],
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
  /** Resolves once the engine confirms the new state. Throws `not_found`, and the errors of the engine. */
  async set(actor: Actor, name: string, to: NightSwitch['to']): Promise<NightSwitch> {
    const { audit, engine, live } = this.#deps;
    if (!this.list().some((one) => one.name === name))
      throw new ServiceError('not_found', say`no phone can switch a time condition ${name}`);
    const who = actor.caller.extension || actor.caller.username;
    const detail = { to: to ?? 'hours' };
    const line = { action: 'night_switch.set', actor: who, object: name, ip: actor.ip, detail };
    await audited(audit, line, async () => {
      await engine.keepSwitch(name, to);
      await live.until(() => (live.switched.get(name) ?? null) === to, {
        ms: CONFIRM_MS,
        waitingFor: 'the night switch',
      });
    });
    return this.list().find((one) => one.name === name)!;
  }
  /**
   * Audits a change of a night switch that a phone made. After a reconnect, resets the switches that a change of the
   * configuration left meanwhile.
   */
  onEvent(event: DomainEvent): void {
    if (event.type === 'engine.resynced') this.followSite();
    if (event.type !== 'night_switch.changed' || event.data.by === null) return;
    const { name, to, by } = event.data;
    this.#after(async () => {
      const detail = { to: to ?? 'hours' };
      await this.#deps.audit.record({
        action: 'night_switch.set',
        actor: by,
        object: name,
        outcome: 'ok',
        ip: null,
        detail,
      });
    });
  }
  /** Call after a change of the configuration: resets switches that no phone can reset, so that hours apply again. */
  followSite(): void {
    const { engine, live } = this.#deps;
    const names = new Set(this.list().map(({ name }) => name));
    for (const name of live.switched.keys())
      if (!names.has(name)) this.#after(() => engine.keepSwitch(name, null));
  }
  async close(): Promise<void> {
    await this.#work;
  }
  #after(step: () => Promise<void>): void {
    this.#work = this.#work
      .then(step)
      .catch((error: unknown) =>
        this.#deps.log.warn({ error: messageOf(error) }, 'the state of a night switch could not be followed'),
      );
  }
}
