/** What a new configuration does to members: queues forget them without a word, and people no longer work where they did. */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Engine } from '../../ports/engine.ts';
import type { Intents } from './intents.ts';

/** Resyncs compared after a reload: the first may have begun before it was over. */
const LOOKS = 2;

export interface Reloads {
  /**
   * Called before the engine reads its configuration again, by which queues may forget members and pauses: until what this
   * gives is called, a resync is nobody's wish, and after it members are brought back to what was asked for. Written down, so
   * that it holds for the next start too.
   */
  hold(): Promise<() => void>;
  readonly held: boolean;
  /** True until members were brought back. */
  readonly open: boolean;
  /** A resync was compared. */
  compared(): void;
}
export function createReloads(deps: {
  readonly engine: Pick<Engine, 'resynced'>;
  readonly intents: Intents;
  readonly log: Log;
  /** Called after each snapshot requested here; one that shows nothing new is no event, and members may be missing all the same. */
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
        log.warn({ error: messageOf(error) }, 'that agents followed the configuration is not written down'),
      );
    },
  };
}

/** What it gives tells, each time, where people worked when it was called last and do not work now. */
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
