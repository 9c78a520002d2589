import { useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Badge, Button, Group, Paper, Select, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { AuditRow } from '@offhook/contract/audit.ts';
import { formatClock, formatDate, formatDateTime, formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { language, wordsOf } from '../app/words.ts';
import { ZoneNote } from '../app/zone.tsx';
import { actionText, actionsOf, detailName, detailValue } from './audit-details.ts';
import { Actor, AuditObject, useNames } from './audit-names.tsx';
import type { Names } from './audit-names.tsx';
import { exportAudit } from './audit-export.ts';
import { MOST_ROWS } from './audit-rows.ts';
import { fromLocal } from '../app/local-time.ts';
import { PageHead, Paged, Rows } from '../app/page-parts.tsx';

const t = wordsOf('system');

const COLOURS = { ok: 'green', refused: 'yellow', failed: 'red' } as const;
const WAS = 'was_';
function AuditLine({ row, names }: { readonly row: AuditRow; readonly names: Names }): ReactNode {
  const before = (name: string) => row.detail[WAS + name];
  const detail = Object.entries(row.detail).filter(
    ([name, value]) => (value !== null || before(name) !== undefined) && !name.startsWith(WAS),
  );
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td>
        <Text size="sm" component="time" dateTime={row.at} style={{ whiteSpace: 'nowrap' }}>
          {formatDate(row.at)} {formatClock(row.at)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Actor actor={row.actor} names={names} />
      </Table.Td>
      <Table.Td>
        <Text size="sm">{actionText(row.action)}</Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {row.action}
        </Text>
      </Table.Td>
      <Table.Td maw={200} style={{ overflowWrap: 'anywhere' }}>
        <AuditObject object={row.object} names={names} />
      </Table.Td>
      <Table.Td>
        <Badge color={COLOURS[row.outcome]} variant="dot" tt="none">
          {t(`outcome_${row.outcome}`)}
        </Badge>
      </Table.Td>
      <Table.Td>{row.ip ?? '–'}</Table.Td>
      <Table.Td maw={340}>
        {detail.map(([name, value]) => (
          <Text key={name} size="xs" style={{ overflowWrap: 'anywhere' }}>
            <Text span size="xs" c="dimmed">
              {detailName(row, name)}:
            </Text>{' '}
            {before(name) !== undefined && (
              <>
                <del>
                  {before(name) === '' || before(name) === null ? '–' : detailValue(row, name, before(name)!)}
                </del>
                {' → '}
              </>
            )}
            {value === null || value === '' ? '–' : detailValue(row, name, value)}
          </Text>
        ))}
      </Table.Td>
    </Table.Tr>
  );
}
const EMPTY = { q: '', action: '', actor: '', from: '', to: '' };
/** The audit trail, newest first. */
export function AuditPage(): ReactNode {
  const client = useClient();
  const [typed, setTyped] = useState(EMPTY);
  const [wanted] = useDebouncedValue(typed, 300);
  const filter = {
    q: wanted.q.trim() || undefined,
    action: wanted.action || undefined,
    actor: wanted.actor.trim() || undefined,
    from: fromLocal(wanted.from) ?? undefined,
    to: fromLocal(wanted.to) ?? undefined,
  };
  const names = useNames();
  const save = useOnce({ mutationFn: () => exportAudit(client, filter, names) });
  const list = useInfiniteQuery({
    queryKey: ['audit', wanted],
    queryFn: ({ pageParam, signal }) => {
      return client.audit({ limit: 100, ...filter, cursor: pageParam || undefined }, signal);
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  const rows = list.data?.pages.flatMap((page) => page.entries) ?? [];
  const field = (name: keyof typeof EMPTY, type: 'text' | 'datetime-local' = 'text'): ReactNode => (
    <TextInput
      type={type}
      label={t(`filter_${name}`)}
      value={typed[name]}
      onChange={(event) => {
        const { value } = event.currentTarget;
        setTyped((before) => ({ ...before, [name]: value }));
      }}
      style={{ flex: '1 1 11rem' }}
    />
  );
  return (
    <>
      <PageHead
        title={t('audit')}
        lead={
          <>
            {t('audit_lead')}
            <ZoneNote />
          </>
        }
      >
        <Button
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
          loading={save.isPending}
          disabled={rows.length === 0}
          onClick={() => save.mutate()}
        >
          {t('export_csv')}
        </Button>
      </PageHead>
      {save.isError && <Failure error={save.error} />}
      {typeof save.data === 'string' && (
        <Alert role="status" color="yellow" variant="light" mb="md">
          {t('export_cut', { n: formatNumber(MOST_ROWS), time: formatDateTime(save.data) })}
        </Alert>
      )}
      <Paper withBorder p="md">
        <Group align="flex-end" mb="md" gap="sm">
          {field('q')}
          {field('actor')}
          <Select
            label={t('filter_action')}
            data={actionsOf()
              .map((value) => ({ value, label: actionText(value) }))
              .toSorted((a, b) => a.label.localeCompare(b.label, language()))}
            value={typed.action || null}
            onChange={(action) => setTyped((before) => ({ ...before, action: action ?? '' }))}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': `${t('clear')}: ${t('filter_action')}` }}
            nothingFoundMessage={t('no_action')}
            style={{ flex: '1 1 16rem' }}
          />
          {field('from', 'datetime-local')}
          {field('to', 'datetime-local')}
          <Button
            variant="default"
            onClick={() => setTyped(EMPTY)}
            disabled={Object.values(typed).every((v) => v === '')}
          >
            {t('clear')}
          </Button>
        </Group>
        <Paged list={list} count={rows.length} empty={t('no_lines')}>
          <Rows
            caption={t('audit')}
            minWidth={980}
            columns={[
              t('time'),
              t('filter_actor'),
              t('filter_action'),
              t('object'),
              t('outcome'),
              t('ip'),
              t('detail'),
            ]}
          >
            {rows.map((row) => (
              <AuditLine key={row.id} row={row} names={names} />
            ))}
          </Rows>
        </Paged>
      </Paper>
    </>
  );
}
