import type { ReactNode } from 'react';
import type { Pending } from '@offhook/contract/config.ts';
import { Tag } from './tone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

const TONES = { added: 'ok', changed: 'info', removed: 'alert' } as const;
/** Difference of a draft's object from the applied one; nothing without one. */
export const PendingBadge = ({ pending }: { readonly pending: Pending | null }): ReactNode =>
  pending === null ? null : <Tag tone={TONES[pending]}>{t(`pending_${pending}`)}</Tag>;
