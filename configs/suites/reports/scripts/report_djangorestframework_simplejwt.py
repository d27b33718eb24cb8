"""A token of a user with a number as key is read back."""

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="k" * 40,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    SIMPLE_JWT={"USER_ID_CLAIM": "sub"},
)
django.setup()

from django.contrib.auth.models import User
from rest_framework_simplejwt.tokens import AccessToken

token = AccessToken.for_user(User(id=5, username="ada"))
print(AccessToken(str(token))["sub"])
