<?php

// Calls the SDK as sdk/conformance.py asks: one JSON object a line in, one out.

declare(strict_types=1);

namespace Gateway\Sdk;

require __DIR__ . '/../autoload.php';

// A warning is a fault of the SDK.
set_error_handler(static fn (int $level, string $text) => error_reporting() & $level ? throw new \ErrorException($text) : true);

$clients = [];
$folder = sys_get_temp_dir() . '/gateway-sdk-php-' . getmypid();
mkdir($folder, 0700);
$shop = new \PDO("sqlite:$folder/shop");
$shop->exec('CREATE TABLE acts (kind TEXT, text TEXT); CREATE TABLE webhook_seen (seen VARCHAR(255) PRIMARY KEY)');
$server = null;
register_shutdown_function(static function () use (&$server, $folder): void {
    if ($server !== null) {
        proc_terminate($server);
    }
    array_map('unlink', glob("$folder/*"));
    rmdir($folder);
});

$listen = static function (array $given) use (&$server, $folder): array {
    $probe = stream_socket_server('tcp://127.0.0.1:0');
    $address = stream_socket_get_name($probe, false);
    fclose($probe);
    $environment = getenv() + ['FOLDER' => $folder, 'PAYMENT_SECRET' => $given['paymentSecret'], 'PAYOUT_SECRET' => $given['payoutSecret']];
    $silent = ['file', "$folder/log", 'a'];
    $server = proc_open([PHP_BINARY, '-S', $address, __DIR__ . '/receive.php'], [['null'], $silent, $silent], $_, null, $environment);
    for ($left = 100; $left > 0; $left--) {
        $connection = @fsockopen("tcp://$address");
        if ($connection) {
            fclose($connection);
            break;
        }
        usleep(50_000);
    }
    return ['payments' => "http://$address/ipn", 'payouts' => "http://$address/payouts"];
};

$acts = static function () use ($shop): array {
    $found = ['payments' => [], 'notices' => [], 'renewals' => [], 'events' => []];
    foreach ($shop->query('SELECT kind, text FROM acts ORDER BY rowid') as $row) {
        $found[$row['kind']][] = $row['text'];
    }
    return $found;
};

$call = static function (array $given) use (&$clients, $listen, $acts, $folder): mixed {
    $query = $given['query'] ?? [];
    $ids = static fn (\Generator $items, string $field) => array_column(iterator_to_array($items, false), $field);
    switch ($given['op']) {
        case 'open':
            $clients[$given['name']] = new Gateway(
                $given['baseUrl'],
                $given['apiKey'],
                timeout: (float) ($given['timeout'] ?? 30),
                retryFor: (float) ($given['retryFor'] ?? 60),
            );
            assert(!str_contains(print_r($clients[$given['name']], true), $given['apiKey']));
            return true;
        case 'listen':
            return $listen($given);
        case 'acts':
            return $acts();
        case 'failNext':
            return touch("$folder/fail");
        case 'verifyPaymentIpn':
            $event = Webhooks::verifyPaymentIpn($given['body'], $given['signature'], $given['secret'], $given['now']);
            $kind = match (true) {
                $event->notice !== null => 'notice',
                $event->renewal !== null => 'renewal',
                default => 'payment',
            };
            return ['kind' => $kind, 'key' => $event->key, 'event' => $event->payment, 'notice' => $event->notice, 'renewal' => $event->renewal];
        case 'verifyPayoutWebhook':
            $event = Webhooks::verifyPayoutWebhook($given['body'], $given['signature'], $given['secret'], $given['now']);
            return ['kind' => 'payout', 'key' => $event['eventId'], 'event' => $event];
    }
    $gateway = $clients[$given['client']];
    [$group, $name] = explode('.', $given['op'] . '.');
    switch ($group) {
        case 'estimate':
            return $gateway->estimate($query['amount'], $query['currency_from'], $query['currency_to']);
        case 'minAmount':
            return $gateway->minAmount($query['currency_to']);
        case 'events':
            return iterator_to_array($gateway->events(...$query), false);
        case 'resendEvents':
        case 'sandboxDeposit':
            return $gateway->$group($given['body']);
        case 'testWebhook':
            return $gateway->testWebhook(...$given['body']);
        case 'event':
        case 'resendEvent':
        case 'sandboxExpire':
            return $gateway->$group($given['id']);
        case 'balance':
            return $gateway->balance(...$query);
        case 'status':
        case 'currencies':
            return $gateway->$group();
    }
    $of = $gateway->$group;
    $id = isset($given['id']) ? [$given['id']] : [];
    return match ($name) {
        'create' => $of->create($given['body'], $given['idempotencyKey'] ?? null),
        'createCsv' => $of->createCsv($given['order'], $given['csv']),
        'confirm' => $of->confirm($given['id'], $given['body']),
        'submit' => $of->submit($given['id'], $given['signed']),
        'refresh' => $of->refresh($given['id'], $given['feeLevel']),
        'wait' => $of->wait($given['id'], (float) $given['timeout'], (float) $given['interval']),
        'each' => $ids($of->each(...$query), $group === 'payments' ? 'payment_id' : 'id'),
        'eachItem' => $ids($of->eachItem($given['id'], ...$query), 'id'),
        'list', 'items' => $of->$name(...[...$id, $query]),
        default => $of->$name(...$id),
    };
};

$failure = static function (\Throwable $error): array {
    $known = [
        InvalidRequestException::class => 'InvalidRequest', AuthenticationException::class => 'Authentication',
        PermissionException::class => 'Permission', NotFoundException::class => 'NotFound', ConflictException::class => 'Conflict',
        RateLimitException::class => 'RateLimit', QuotaException::class => 'Quota', ServerException::class => 'Server',
        ConnectionException::class => 'Connection', WebhookException::class => 'Webhook',
        \InvalidArgumentException::class => 'Argument',
    ];
    $told = ['type' => $known[$error::class] ?? (string) $error, 'message' => $error->getMessage()];
    if ($error instanceof ApiException) {
        $told += ['code' => $error->errorCode, 'status' => $error->status, 'details' => $error->details, 'retryAfter' => $error->retryAfter];
    }
    return $told + ['reason' => $error->reason ?? null, 'idempotencyKey' => $error->idempotencyKey ?? null];
};

while (($line = fgets(STDIN)) !== false) {
    try {
        $answer = ['ok' => $call(json_decode($line, true, 512, JSON_THROW_ON_ERROR))];
    } catch (\Throwable $error) {
        $answer = ['error' => $failure($error)];
    }
    echo json_encode($answer, JSON_THROW_ON_ERROR), "\n";
}
