import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Anchor, Badge, Stack, Text, Title } from '@mantine/core';
import { Phone, PhoneMissed } from 'lucide-react';
import { Link } from 'wouter';
import type { HistoryCall } from '@offhook/contract/history.ts';
import { formatDateTime, formatSpan, spanAttribute } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { useMe } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { Callbacks } from './callbacks.tsx';
import { conversationAddress } from './last-list.ts';
import { MISSED_SHOWN, markSeen, useMissed } from './missed.ts';
import { PartyText } from './party.tsx';
import { isUnseen } from './unseen.ts';
import { useCall } from './use-call.ts';
import { wordsOf } from '../app/words.ts';
import styles from './history.module.css';

const t = wordsOf('history');

interface RowProps {
  readonly missed: HistoryCall;
  readonly fresh: boolean;
  readonly onCall: (number: string) => void;
}
function Row({ missed, fresh, onCall }: RowProps): ReactNode {
  const { call_key, party, party_name, queue, queue_title, ring_sec, started_at } = missed;
  const side = { extension: null, number: party, number_e164: null, name: party_name, trunk: null };
  return (
    <li className={`${styles.row ?? ''} ${styles.missed ?? ''}`}>
      <span className={styles.icon} style={{ color: 'var(--offhook-alert)' }}>
        <PhoneMissed size={18} aria-hidden />
      </span>
      <Link href={conversationAddress(call_key)} className={styles.who ?? ''}>
        <bdi>
          <PartyText party={side} />
        </bdi>
        {fresh && (
          <Badge size="sm" variant="light" color="red" tt="none">
            {t('missed_new')}
          </Badge>
        )}
      </Link>
      <span className={styles.what}>{queue_title ?? queue ?? ''}</span>
      <time className={styles.span} dateTime={spanAttribute(ring_sec)}>
        {ring_sec > 0 && t('rang', { span: formatSpan(ring_sec) })}
      </time>
      <time className={styles.time} dateTime={started_at}>
        {formatDateTime(started_at)}
      </time>
      {/^[+\d*#]/.test(party) && (
        <ActionIcon
          variant="subtle"
          size={40}
          aria-label={t('call', { number: party })}
          className={styles.menu ?? ''}
          onClick={() => onCall(party)}
        >
          <Phone size={18} aria-hidden />
        </ActionIcon>
      )}
    </li>
  );
}
/** Missed calls; opening this page marks them as seen in this browser. */
export function MissedPage(): ReactNode {
  const { extension } = useMe();
  const { calls, unseen, seen, error, retry } = useMissed();
  const onCall = useCall();
  // New calls stay marked while the page is open.
  const [before] = useState(seen);
  useEffect(() => {
    if (unseen.length === 0) return;
    const look = (): void => {
      if (!document.hidden) markSeen(extension, unseen);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [extension, unseen]);
  return (
    <Stack gap="md">
      <Title order={1} size="h2">
        {t('missed_title')}
      </Title>
      <ZoneNote />
      <Callbacks />
      <Title order={2} size="h4">
        {t('missed_own')}
      </Title>
      {error !== null && <Failure error={error} onRetry={retry} />}
      {calls === undefined ? (
        error === null && <Loading />
      ) : calls.length === 0 ? (
        <Empty icon={<PhoneMissed size={32} aria-hidden />} title={t('missed_none')} />
      ) : (
        <ul className={`${styles.list ?? ''} ${styles.plain ?? ''}`} aria-label={t('missed_title')}>
          {calls.map((missed) => (
            <Row
              key={missed.call_key}
              missed={missed}
              fresh={isUnseen(missed, before, serverNow())}
              onCall={onCall}
            />
          ))}
        </ul>
      )}
      {calls?.length === MISSED_SHOWN && (
        <Text size="sm" c="dimmed">
          <Anchor component={Link} href={PAGE_PATHS.history} size="sm">
            {t('missed_older')}
          </Anchor>
        </Text>
      )}
    </Stack>
  );
}
