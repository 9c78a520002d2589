import type { ReactNode } from 'react';
import { formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import type { WaitingCaller } from './model.ts';
import { VirtualList } from './virtual.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';

const t = wordsOf('wallboard');

const Waited = ({ since }: { readonly since: string }): ReactNode => (
  <span className={styles.waited}>{formatSpan(useSince(since))}</span>
);
interface CallersProps {
  readonly callers: readonly WaitingCaller[];
  readonly screen: boolean;
}
/** Callers, the longest wait first. */
export function Callers({ callers, screen }: CallersProps): ReactNode {
  if (callers.length === 0) return <p className={styles.none}>{t('nobody_waits')}</p>;
  return (
    <VirtualList
      label={t('callers_part')}
      count={callers.length}
      minWidth={15}
      columns={1}
      height={3.6}
      itemKey={(index) => callers[index]!.id}
      item={(index) => {
        const caller = callers[index]!;
        return (
          <div className={styles.caller} data-caller>
            <span className={styles.place} aria-label={t('place', { place: caller.position })}>
              {caller.position}
            </span>
            <span className={styles.who}>
              <b>{caller.name || caller.number || t('anonymous')}</b>
              <span>
                {caller.title}
                {caller.priority !== null &&
                  caller.priority > 0 &&
                  ` · ${t('priority', { priority: caller.priority })}`}
                {caller.name !== '' && caller.number !== '' && ` · ${caller.number}`}
              </span>
            </span>
            <Waited since={caller.joined_at} />
          </div>
        );
      }}
      screen={screen}
    />
  );
}
