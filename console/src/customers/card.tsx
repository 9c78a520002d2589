/** The customers with the number of a call, or the way to create one. */
import { Suspense, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ExternalLink, UserPlus } from 'lucide-react';
import { Link } from 'wouter';
import type { Client } from '@offhook/client';
import type { Customer } from '@offhook/contract/phonebook.ts';
import { formatAgo } from '../app/format.ts';
import { late } from '../app/late.tsx';
import { serverNow } from '../app/now.ts';
import { CUSTOMERS, contactsQuery, conversationsOfQuery } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { customerPath } from './data.ts';
import { Marks } from './marks.tsx';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('customer');

const CustomerForm = late(async () => {
  const [{ CustomerForm: Form }] = await Promise.all([import('./form.tsx'), import('../app/all-styles.ts')]);
  return Form;
});
const BlockCaller = late(async () => {
  const [{ BlockCaller: Block }] = await Promise.all([
    import('../app/block-caller.tsx'),
    import('../app/all-styles.ts'),
  ]);
  return Block;
});
/** Limits of the card: customers with the number, and other numbers of a customer. */
const MOST_SHOWN = 5;
const MOST_NUMBERS = 3;

function Owner({ extension }: { readonly extension: string }): ReactNode {
  const contacts = useQuery(contactsQuery(useClient()));
  const owner = contacts.data?.contacts.find((one) => one.extension === extension);
  return t('owner', { name: owner?.name ?? extension });
}
interface OneProps {
  readonly customer: Customer;
  /** Number of the call, in E.164 where it has that form. */
  readonly number: string;
}
function One({ customer, number }: OneProps): ReactNode {
  const { id, name, company, owner, numbers, url } = customer;
  const others = numbers.filter((one) => (one.e164 ?? one.number) !== number);
  return (
    <li data-customer={id}>
      <Group gap="xs">
        <Anchor component={Link} href={customerPath(id)} fw={600}>
          <bdi>{name}</bdi>
        </Anchor>
        <Marks {...customer} />
        {url !== null && (
          <Anchor href={url} target="_blank" rel="noopener noreferrer" size="sm">
            {t('page')} <ExternalLink size={14} aria-hidden />
          </Anchor>
        )}
      </Group>
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {company}
        {company !== null && owner !== null && ' · '}
        {owner !== null && <Owner extension={owner} />}
      </Text>
      {others.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('other_numbers', {
            numbers: others
              .slice(0, MOST_NUMBERS)
              .map((one) => (one.label === null ? one.number : `${one.number} (${one.label})`))
              .join(', '),
          })}
        </Text>
      )}
    </li>
  );
}
/** The latest conversation with a number before the running one. */
function LastConversation({ number }: { readonly number: string }): ReactNode {
  const list = useQuery(conversationsOfQuery(useClient(), number));
  const last = list.data?.find(({ state }) => state !== 'open');
  if (last === undefined) return null;
  return (
    <Text size="sm" c="dimmed">
      {t('last_conversation', {
        ago: formatAgo(last.started_at, serverNow()),
        outcome: dispositionWord(`disposition_${last.disposition}`),
      })}
    </Text>
  );
}
type Found = Awaited<ReturnType<Client['phonebook']['lookup']>>;
interface CardProps {
  /** Number as received or dialled; empty for a hidden one. */
  readonly number: string;
  /** Name that the network sent. */
  readonly name: string;
  /** Shows the latest conversation too. */
  readonly history?: boolean;
}
export function CustomerCard({ number, name, history = false }: CardProps): ReactNode {
  const client = useClient();
  const [creates, setCreates] = useState(false);
  const found = useQuery({
    queryKey: [CUSTOMERS, 'with', number],
    queryFn: ({ signal }) => client.phonebook.lookup({ number }, signal),
    enabled: number !== '',
  });
  const card = ({ e164, customers }: Found): ReactNode => (
    <Stack gap={6} role="group" aria-label={t('customer')}>
      {customers.length > 1 && (
        <Text size="sm" fw={600}>
          {t('shared_number', { count: customers.length })}
        </Text>
      )}
      {customers.length > 0 && (
        <ul style={{ margin: 0, padding: 0, listStyle: 'none' }}>
          {customers.slice(0, MOST_SHOWN).map((customer) => (
            <One key={customer.id} customer={customer} number={e164 ?? number} />
          ))}
        </ul>
      )}
      {history && <LastConversation number={e164 ?? number} />}
      {customers.length === 0 && (
        <Button
          variant="default"
          leftSection={<UserPlus size={16} aria-hidden />}
          onClick={() => setCreates(true)}
          style={{ alignSelf: 'flex-start' }}
        >
          {t('create')}
        </Button>
      )}
      <Suspense>
        <BlockCaller number={e164 ?? number} />
      </Suspense>
      {creates && (
        <Suspense>
          <CustomerForm
            customer={null}
            number={e164 ?? number}
            name={name === number ? '' : name}
            onClose={() => setCreates(false)}
          />
        </Suspense>
      )}
    </Stack>
  );
  return (
    // Quiet: the call does not wait for the phonebook.
    <Read of={found} quiet>
      {/* Internal numbers have no E.164 form. */}
      {(data) => (data.customers.length > 0 || data.e164 !== null) && card(data)}
    </Read>
  );
}
