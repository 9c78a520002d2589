import type { ReactNode } from 'react';
import { Badge } from '@mantine/core';
import type { Pending } from '@offhook/contract/config.ts';
import { t } from './words.ts';

const COLOURS = {
  added: 'var(--offhook-ok)',
  changed: 'var(--offhook-info)',
  removed: 'var(--offhook-alert)',
} as const;
/** How an object of the draft differs from what is applied; nothing where it does not. */
export const PendingBadge = ({ pending }: { readonly pending: Pending | null }): ReactNode =>
  pending === null ? null : (
    <Badge variant="outline" tt="none" style={{ color: COLOURS[pending], borderColor: COLOURS[pending] }}>
      {t(`pending_${pending}`)}
    </Badge>
  );
