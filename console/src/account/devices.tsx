/** Signed-in devices: the own ones, and for administrators those of others. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { Monitor, Smartphone } from 'lucide-react';
import { useQueryClient } from '@tanstack/react-query';
import { formatDateTime } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { Rows } from '../app/page-parts.tsx';
import { Failure } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('account');

export interface Device {
  readonly id: number;
  readonly device_name: string | null;
  readonly address: string | null;
  readonly platform: string | null;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly current: boolean;
}
/** Reload interval of a list of devices: a sign-in is no event. */
export const FOLLOW_MS = 5_000;
interface DeviceTableProps {
  readonly devices: readonly Device[];
  readonly end: (id: number) => Promise<unknown>;
  /** Query keys to invalidate afterwards. */
  readonly renews: readonly string[];
}
export function DeviceTable({ devices, end, renews }: DeviceTableProps): ReactNode {
  const queries = useQueryClient();
  const [ending, setEnding] = useState<number | null>(null);
  const change = useOnce({
    mutationFn: end,
    onSettled: async () => {
      setEnding(null);
      await Promise.all(renews.map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  if (devices.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('no_devices')}
      </Text>
    );
  return (
    <>
      {change.isError && <Failure error={change.error} />}
      <ZoneNote />
      <Rows
        caption={t('devices')}
        minWidth={560}
        folds
        columns={[t('device'), t('signed_in'), t('last_used'), '']}
      >
        {devices.map((device) => {
          const Icon = /android|ios|iphone|mobile/i.test(device.platform ?? '') ? Smartphone : Monitor;
          const name = device.device_name ?? t('unknown_device');
          return (
            <Table.Tr key={device.id}>
              <Table.Td maw={280}>
                <Group gap="xs" wrap="nowrap">
                  <Icon size={18} aria-hidden />
                  <div style={{ minWidth: 0 }}>
                    <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                      {name}
                    </Text>
                    {(device.platform !== null || device.address !== null) && (
                      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                        {[device.platform, device.address].filter((part) => part !== null).join(', ')}
                      </Text>
                    )}
                    {device.current && (
                      <Badge variant="dot" tt="none">
                        {t('this_device')}
                      </Badge>
                    )}
                  </div>
                </Group>
              </Table.Td>
              <Table.Td>{formatDateTime(device.created_at)}</Table.Td>
              <Table.Td data-label={t('last_used')}>{formatDateTime(device.last_used_at)}</Table.Td>
              <Table.Td ta="right">
                {!device.current && (
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`${t('end')}: ${name}, ${formatDateTime(device.created_at)}`}
                    loading={ending === device.id}
                    onClick={() => {
                      setEnding(device.id);
                      change.mutate(device.id);
                    }}
                  >
                    {t('end')}
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          );
        })}
      </Rows>
    </>
  );
}
