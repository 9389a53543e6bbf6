<?php

// Prints the result of verify_payout_webhook.php for each recorded delivery: php check.php recorded.json

declare(strict_types=1);

require __DIR__ . '/verify_payout_webhook.php';

$recorded = json_decode(file_get_contents($argv[1]), true, 512, JSON_THROW_ON_ERROR);
$seen = [];
$remember = function (string $eventId) use (&$seen): bool {
    $isNew = !isset($seen[$eventId]);
    $seen[$eventId] = true;
    return $isNew;
};

foreach ($recorded['deliveries'] as $delivery) {
    try {
        $event = verify_payout_webhook(
            $delivery['body'],
            $delivery['signature'],
            $recorded['secret'],
            $remember,
            $delivery['received_at'],
        );
        $verdict = $event ? "accepted {$event['eventType']} {$event['order']['state']}" : 'duplicate';
    } catch (PayoutWebhookRefused $refusal) {
        $verdict = $refusal->getMessage();
    }
    echo "{$delivery['name']}: $verdict\n";
}
