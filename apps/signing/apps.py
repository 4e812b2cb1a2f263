from django.apps import AppConfig


class SigningConfig(AppConfig):
    name = "apps.signing"

    def ready(self) -> None:
        from django.db.models import Q

        from apps.jobs.targets import Source, register
        from apps.signing import keys
        from apps.signing.models import SigningKey

        keys_of = SigningKey.objects.select_related("namespace")
        register(Source(keys_of.all, lambda word: Q(namespace__name=word) | Q(key_id=word.upper())), keys.JOB)
