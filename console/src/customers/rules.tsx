/** Rules that block or allow callers, listed for supervisors. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Select, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Client } from '@offhook/client';
import { CallerRule } from '@offhook/contract/caller-rules.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { Ago, Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient, useMay } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { tellFailure } from '../app/tell.ts';
import { wordsOf } from '../app/words.ts';
import { CUSTOMERS } from '../app/queries.ts';

const t = wordsOf('customers');
type Rules = Awaited<ReturnType<Client['callerRules']['list']>>;
const MATCHES = CallerRule.shape.match.options;

function NewRule(): ReactNode {
  const client = useClient();
  const [action, setAction] = useState<CallerRule['action']>('block');
  const [match, setMatch] = useState<CallerRule['match']>('number');
  const [number, setNumber] = useState('');
  const [note, setNote] = useState('');
  const create = useChange(
    () =>
      client.callerRules.create({
        action,
        match,
        number: match === 'anonymous' ? null : number.replaceAll(/[\s()./-]/g, ''),
        note: note.trim() === '' ? null : note,
      }),
    {
      renews: [CUSTOMERS],
      done: () => t('rule_created'),
      onDone() {
        setNumber('');
        setNote('');
      },
    },
  );
  const labels = {
    action: t('rule_action'),
    match: t('rule_match'),
    number: t('rule_value'),
    note: t('rule_note'),
  };
  const field = fieldsWith(create.error, labels);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate(undefined);
      }}
    >
      <Group align="end" mb="md">
        <Select
          {...field('action')}
          data={[
            { value: 'block', label: t('rule_block') },
            { value: 'allow', label: t('rule_allow') },
          ]}
          value={action}
          onChange={(value) => setAction(value === 'allow' ? 'allow' : 'block')}
          w={130}
        />
        <Select
          {...field('match')}
          data={MATCHES.map((value) => ({ value, label: t(`rule_${value}`) }))}
          value={match}
          onChange={(value) => setMatch(MATCHES.find((one) => one === value) ?? 'number')}
          w={210}
        />
        {match !== 'anonymous' && (
          <TextInput
            {...field('number')}
            inputMode="tel"
            maxLength={64}
            value={number}
            onChange={(event) => setNumber(event.currentTarget.value)}
            required
          />
        )}
        <TextInput
          {...field('note')}
          maxLength={200}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <Button type="submit" loading={create.isPending}>
          {t('rule_add')}
        </Button>
      </Group>
      {create.error !== null && <Failure error={create.error} labels={labels} />}
    </form>
  );
}
/** For supervisors; nothing for others. */
export function CallerRules(): ReactNode {
  const client = useClient();
  const may = useMay('supervisor');
  const list = useQuery({
    queryKey: [CUSTOMERS, 'rules'],
    queryFn: ({ signal }) => client.callerRules.list(signal),
    enabled: may,
    // The engine has a new rule a moment later.
    refetchInterval: ({ state }) => (state.data?.enforced === false ? 2_000 : false),
  });
  const remove = useChange((id: number) => client.callerRules.remove(id), {
    renews: [CUSTOMERS],
    done: () => t('rule_deleted'),
  });
  const shown = ({ enforced, rules }: Rules): ReactNode => (
    <Section title={t('rules')} text={enforced ? t('rules_text') : `${t('rules_text')} ${t('rules_later')}`}>
      <NewRule />
      {rules.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('rules_none')}
        </Text>
      ) : (
        <Rows
          caption={t('rules')}
          minWidth={620}
          columns={[t('rule_action'), t('rule_match'), t('rule_note'), t('rule_by'), t('rule_at'), '']}
        >
          {rules.map(({ id, action, match, number, note, created_by, created_at }) => (
            <Table.Tr key={id}>
              <Table.Td>{t(`rule_${action}`)}</Table.Td>
              <Table.Td>
                {number === null ? t('rule_anonymous') : `${number}${match === 'prefix' ? '…' : ''}`}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <bdi>{note}</bdi>
              </Table.Td>
              <Table.Td>{created_by}</Table.Td>
              <Table.Td>
                <Ago time={created_at} never="–" />
              </Table.Td>
              <Table.Td ta="right">
                <Button
                  size="xs"
                  variant="default"
                  loading={remove.isPending && remove.variables === id}
                  aria-label={`${t('rule_delete')}: ${number ?? t('rule_anonymous')}`}
                  onClick={() => void remove.mutateAsync(id).catch(tellFailure)}
                >
                  {t('rule_delete')}
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      )}
    </Section>
  );
  return (
    <Read of={list} quiet>
      {shown}
    </Read>
  );
}
