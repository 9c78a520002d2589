/** Effects of a new configuration on members: the engine drops members without an event, and agents change queues. */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Engine } from '../../ports/engine.ts';
import type { Intents } from './intents.ts';

/** Resyncs compared after a reload: the first may have begun before the reload ended. */
const LOOKS = 2;

export interface Reloads {
  /**
   * Call it before the engine reloads its configuration, which may drop members and pauses. Until the
   * returned function is called, a resync sets no intents; after that, members are restored. Stored, so that
   * it survives a restart of the service.
   */
  hold(): Promise<() => void>;
  readonly held: boolean;
  /** True until the members are restored. */
  readonly open: boolean;
  /** Call it after a resync was compared. */
  compared(): void;
}
export function createReloads(deps: {
  readonly engine: Pick<Engine, 'resynced'>;
  readonly intents: Intents;
  readonly log: Log;
  /** Called after each snapshot requested here: one without differences emits no event, yet members may be missing. */
  readonly looked: () => void;
}): Reloads {
  const { engine, intents, log, looked } = deps;
  let holds = 0;
  let looks = intents.fact('reload') === '1' ? LOOKS : 0;
  const note = async (value: '' | '1'): Promise<void> => {
    if ((intents.fact('reload') ?? '') !== value) await intents.keep([], { facts: { reload: value } });
  };
  const look = (): void => void engine.resynced().then(looked);
  return {
    async hold() {
      await note('1');
      holds += 1;
      let mine = true;
      return () => {
        if (!mine) return;
        mine = false;
        holds -= 1;
        looks = LOOKS;
        look();
      };
    },
    get held() {
      return holds > 0;
    },
    get open() {
      return holds > 0 || looks > 0;
    },
    compared() {
      if (holds > 0 || looks === 0) return;
      looks -= 1;
      if (looks > 0) return look();
      note('').catch((error: unknown) =>
        log.warn(
          { error: messageOf(error) },
          'the update of agents to the configuration could not be stored',
        ),
      );
    },
  };
}

/**
 * Each call of the returned function yields the agents and queues that the directory dropped since the
 * previous call.
 */
export function followDirectory(
  directory: Pick<Directory, 'queues'>,
): () => { extension: string; queue: string }[] {
  const work = () =>
    new Map(
      directory
        .queues()
        .flatMap((q) =>
          q.agents.map((extension) => [`${extension}/${q.name}`, { extension, queue: q.name }]),
        ),
    );
  let before = work();
  return () => {
    const now = work();
    const gone = [...before].filter(([key]) => !now.has(key)).map(([, where]) => where);
    before = now;
    return gone;
  };
}
